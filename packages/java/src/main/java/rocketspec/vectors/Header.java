package rocketspec.vectors;

/** The six fields of an index file's header; times in ms since the epoch. */
public final class Header {
    final long beginTimestamp;
    final long endTimestamp;
    final long beginPhyOffset;
    final long endPhyOffset;
    final int hashSlotCount;
    final int indexCount;

    public Header(final long beginTimestamp, final long endTimestamp, final long beginPhyOffset,
        final long endPhyOffset, final int hashSlotCount, final int indexCount) {
        this.beginTimestamp = beginTimestamp;
        this.endTimestamp = endTimestamp;
        this.beginPhyOffset = beginPhyOffset;
        this.endPhyOffset = endPhyOffset;
        this.hashSlotCount = hashSlotCount;
        this.indexCount = indexCount;
    }
}
