# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq4Indexfile(KaitaiStruct):
    """Hash index over the keys of the messages in a RocketMQ broker's commit log, one file of `store/index/`: a header,
    `hash_slot_num` slots, `index_num` entries. A slot holds the number of the newest entry of its chain, an entry the
    number of the one before it.
    
    The file does not record how many slots and entries it has room for; a broker takes both numbers from its configuration
    (`maxHashSlotNum` and `maxIndexNum`, 5000000 and 20000000 by default), and so they are parameters here. A viewer that cannot
    pass parameters opens `indexfile_default.ksy`.
    
    .. seealso::
       IDX-FILE-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L44-L48
    """
    def __init__(self, hash_slot_num, index_num, _io, _parent=None, _root=None):
        super(Rocketmq4Indexfile, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.hash_slot_num = hash_slot_num
        self.index_num = index_num
        self._read()

    def _read(self):
        self.header = Rocketmq4Indexfile.Header(self._io, self, self._root)


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        _ = self.entries
        if hasattr(self, '_m_entries'):
            pass
            for i in range(len(self._m_entries)):
                pass
                self._m_entries[i]._fetch_instances()


        _ = self.index_count
        if hasattr(self, '_m_index_count'):
            pass

        _ = self.slots
        if hasattr(self, '_m_slots'):
            pass
            for i in range(len(self._m_slots)):
                pass


        _ = self.unused_entry
        if hasattr(self, '_m_unused_entry'):
            pass


    class Entry(KaitaiStruct):
        """One key of one message.
        
        .. seealso::
           IDX-ENT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq4Indexfile.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.key_hash = self._io.read_s4be()
            if not self.key_hash >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.key_hash, self._io, u"/types/entry/seq/0")
            self.phy_offset = self._io.read_s8be()
            self.time_diff = self._io.read_s4be()
            if not self.time_diff >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.time_diff, self._io, u"/types/entry/seq/2")
            self.prev_entry = self._io.read_s4be()
            if not self.prev_entry >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.prev_entry, self._io, u"/types/entry/seq/3")
            if not self.prev_entry <= self._parent.index_num - 1:
                raise kaitaistruct.ValidationGreaterThanError(self._parent.index_num - 1, self.prev_entry, self._io, u"/types/entry/seq/3")


        def _fetch_instances(self):
            pass

        @property
        def store_timestamp(self):
            """The time at which a query places the entry, in ms since 1970: exact to the second, and too late by the gap
            between two files for entry 1 of a rolled one (IDX-PUT-8).
            
            .. seealso::
               IDX-SEL-4 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L233-L236
            """
            if hasattr(self, '_m_store_timestamp'):
                return self._m_store_timestamp

            self._m_store_timestamp = (self._parent.header.begin_timestamp + self.time_diff * 1000)
            return getattr(self, '_m_store_timestamp', None)


    class Header(KaitaiStruct):
        """What the first and the last put left, and two counters. A rolled file starts with the last put of the file before it.
        
        .. seealso::
           IDX-HDR-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexHeader.java#L58-L65
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq4Indexfile.Header, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.begin_timestamp = self._io.read_s8be()
            self.end_timestamp = self._io.read_s8be()
            self.begin_phy_offset = self._io.read_s8be()
            self.end_phy_offset = self._io.read_s8be()
            self.hash_slot_count = self._io.read_s4be()
            if not self.hash_slot_count >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.hash_slot_count, self._io, u"/types/header/seq/4")
            self.index_count = self._io.read_s4be()
            if not self.index_count >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.index_count, self._io, u"/types/header/seq/5")


        def _fetch_instances(self):
            pass


    @property
    def entries(self):
        """The entries that were put, entry 1 first.
        
        .. seealso::
           IDX-ENT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128
        """
        if hasattr(self, '_m_entries'):
            return self._m_entries

        _pos = self._io.pos()
        self._io.seek(self.ofs_entries + 20)
        self._m_entries = []
        for i in range(self.num_entries):
            self._m_entries.append(Rocketmq4Indexfile.Entry(self._io, self, self._root))

        self._io.seek(_pos)
        return getattr(self, '_m_entries', None)

    @property
    def index_count(self):
        """The header's `index_count` again; no more than the file has room for.
        
        .. seealso::
           IDX-HDR-5 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexHeader.java#L38
        """
        if hasattr(self, '_m_index_count'):
            return self._m_index_count

        _pos = self._io.pos()
        self._io.seek(36)
        self._m_index_count = self._io.read_s4be()
        if not self._m_index_count >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self._m_index_count, self._io, u"/instances/index_count")
        if not self._m_index_count <= (self.index_num if self.index_num > 1 else 1):
            raise kaitaistruct.ValidationGreaterThanError((self.index_num if self.index_num > 1 else 1), self._m_index_count, self._io, u"/instances/index_count")
        self._io.seek(_pos)
        return getattr(self, '_m_index_count', None)

    @property
    def num_entries(self):
        """Number of entries that were put.
        
        .. seealso::
           IDX-HDR-5 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexHeader.java#L38
        """
        if hasattr(self, '_m_num_entries'):
            return self._m_num_entries

        self._m_num_entries = (self.index_count - 1 if self.index_count > 1 else 0)
        return getattr(self, '_m_num_entries', None)

    @property
    def ofs_entries(self):
        """Byte offset of entry 0.
        
        .. seealso::
           IDX-ENT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128
        """
        if hasattr(self, '_m_ofs_entries'):
            return self._m_ofs_entries

        self._m_ofs_entries = 40 + 4 * self.hash_slot_num
        return getattr(self, '_m_ofs_entries', None)

    @property
    def slots(self):
        """For each slot the number of the newest entry of its chain, 0 where it is empty. In a live file it may already
        name the entry that the header's `index_count` does not count yet.
        
        .. seealso::
           IDX-SLOT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L96
        """
        if hasattr(self, '_m_slots'):
            return self._m_slots

        _pos = self._io.pos()
        self._io.seek(40)
        self._m_slots = []
        for i in range(self.hash_slot_num):
            self._m_slots.append(self._io.read_s4be())
            if not self._m_slots[i] >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self._m_slots[i], self._io, u"/instances/slots")
            if not self._m_slots[i] <= (self.index_num - 1 if self.index_num > 1 else 0):
                raise kaitaistruct.ValidationGreaterThanError((self.index_num - 1 if self.index_num > 1 else 0), self._m_slots[i], self._io, u"/instances/slots")

        self._io.seek(_pos)
        return getattr(self, '_m_slots', None)

    @property
    def unused_entry(self):
        """Entry 0, which nothing writes.
        
        .. seealso::
           IDX-ENT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128
        """
        if hasattr(self, '_m_unused_entry'):
            return self._m_unused_entry

        if self.index_num > 0:
            pass
            _pos = self._io.pos()
            self._io.seek(self.ofs_entries)
            self._m_unused_entry = self._io.read_bytes(20)
            if not self._m_unused_entry == b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", self._m_unused_entry, self._io, u"/instances/unused_entry")
            self._io.seek(_pos)

        return getattr(self, '_m_unused_entry', None)
