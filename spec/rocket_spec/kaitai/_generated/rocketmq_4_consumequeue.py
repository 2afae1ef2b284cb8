# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq4Consumequeue(KaitaiStruct):
    """One file of a consume queue, `store/consumequeue/TOPIC/QUEUE_ID/BYTE_OFFSET`: 20-byte units, one for each message of
    the queue in its order. Unit `i` of a file has the logical offset (the file's name) / 20 + i. Behind the last unit
    in use the file holds zeros, or units that a truncation gave up.
    
    .. seealso::
       CQ-UNIT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(Rocketmq4Consumequeue, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self._raw_units = []
        self.units = []
        i = 0
        while not self._io.is_eof():
            self._raw_units.append(self._io.read_bytes(20))
            _io__raw_units = KaitaiStream(BytesIO(self._raw_units[-1]))
            self.units.append(Rocketmq4Consumequeue.Unit(_io__raw_units, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.units)):
            pass
            self.units[i]._fetch_instances()


    class Unit(KaitaiStruct):
        """Where one message is in the commit log.
        
        .. seealso::
           CQ-UNIT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq4Consumequeue.Unit, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.phy_offset = self._io.read_s8be()
            if not self.phy_offset >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.phy_offset, self._io, u"/types/unit/seq/0")
            self.len_record = self._io.read_s4be()
            if not self.len_record >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.len_record, self._io, u"/types/unit/seq/1")
            self.tags_code = self._io.read_s8be()


        def _fetch_instances(self):
            pass
            _ = self.tags_code_high
            if hasattr(self, '_m_tags_code_high'):
                pass

            _ = self.tags_code_low
            if hasattr(self, '_m_tags_code_low'):
                pass


        @property
        def is_ext_address(self):
            """Whether the tags code is the address of a unit in the ext queue.
            
            .. seealso::
               CQ-TAGS-3 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L388-L403
            """
            if hasattr(self, '_m_is_ext_address'):
                return self._m_is_ext_address

            self._m_is_ext_address = self.tags_code <= -2147483649
            return getattr(self, '_m_is_ext_address', None)

        @property
        def is_in_use(self):
            """Whether recovery takes this for a unit; pre-blank units count.
            
            .. seealso::
               CQ-UNIT-3 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L107-L123
            """
            if hasattr(self, '_m_is_in_use'):
                return self._m_is_in_use

            self._m_is_in_use =  ((self.phy_offset >= 0) and (self.len_record > 0)) 
            return getattr(self, '_m_is_in_use', None)

        @property
        def is_pre_blank(self):
            """Whether the unit only fills the place of a logical offset that was never written.
            
            .. seealso::
               CQ-UNIT-2 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L497-L504
            """
            if hasattr(self, '_m_is_pre_blank'):
                return self._m_is_pre_blank

            self._m_is_pre_blank =  ((self.phy_offset == 0) and (self.len_record == 2147483647) and (self.tags_code == 0)) 
            return getattr(self, '_m_is_pre_blank', None)

        @property
        def ofs_ext_unit(self):
            """Byte offset of the ext unit, counted over all files of the ext queue. It comes from the two halves, so that it is
            right up to 2^53 also where a language's numbers do not hold 64 bits, as in JavaScript; a greater one is rounded
            there, as every 64-bit field is.
            
            .. seealso::
               CQ-EXT-2 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L125-L130
            """
            if hasattr(self, '_m_ofs_ext_unit'):
                return self._m_ofs_ext_unit

            if self.is_ext_address:
                pass
                self._m_ofs_ext_unit = ((self.tags_code_high + 2147483648) * 4294967296 + self.tags_code_low)

            return getattr(self, '_m_ofs_ext_unit', None)

        @property
        def tags_code_high(self):
            """The higher 4 bytes of the tags code.
            
            .. seealso::
               CQ-UNIT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490
            """
            if hasattr(self, '_m_tags_code_high'):
                return self._m_tags_code_high

            _pos = self._io.pos()
            self._io.seek(12)
            self._m_tags_code_high = self._io.read_s4be()
            self._io.seek(_pos)
            return getattr(self, '_m_tags_code_high', None)

        @property
        def tags_code_low(self):
            """The lower 4 bytes of the tags code.
            
            .. seealso::
               CQ-UNIT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490
            """
            if hasattr(self, '_m_tags_code_low'):
                return self._m_tags_code_low

            _pos = self._io.pos()
            self._io.seek(16)
            self._m_tags_code_low = self._io.read_u4be()
            self._io.seek(_pos)
            return getattr(self, '_m_tags_code_low', None)


    @property
    def num_units(self):
        """Number of units that the file has room for.
        
        .. seealso::
           CQ-FILE-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/config/MessageStoreConfig.java#L219-L223
        """
        if hasattr(self, '_m_num_units'):
            return self._m_num_units

        self._m_num_units = len(self.units)
        return getattr(self, '_m_num_units', None)
