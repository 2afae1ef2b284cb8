# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq4ConsumequeueExt(KaitaiStruct):
    """One file of a consume queue's extension, `store/consumequeue_ext/TOPIC/QUEUE_ID/BYTE_OFFSET`, which a broker writes
    with `enableConsumeQueueExt`: units of varying length, and after them an end mark (in a full file), zeros, or the rest of a
    longer unit over which a recovery has let the broker write.
    
    .. seealso::
       CQ-EXT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L507-L529
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(Rocketmq4ConsumequeueExt, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.units = []
        i = 0
        while True:
            _ = Rocketmq4ConsumequeueExt.Unit(self._io, self, self._root)
            self.units.append(_)
            if (not (_.is_unit)):
                break
            i += 1


    def _fetch_instances(self):
        pass
        for i in range(len(self.units)):
            pass
            self.units[i]._fetch_instances()


    class Unit(KaitaiStruct):
        """What the consume queue has to know of one message beyond its unit there.
        
        .. seealso::
           CQ-EXT-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L507-L529
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq4ConsumequeueExt.Unit, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_unit = self._io.read_s2be()
            if self.is_unit:
                pass
                self.tags_code = self._io.read_s8be()

            if self.is_unit:
                pass
                self.store_timestamp = self._io.read_s8be()

            if self.is_unit:
                pass
                self.len_bit_map = self._io.read_s2be()
                if not self.len_bit_map >= (-32768 if self.len_unit == 20 else self.len_unit - 20):
                    raise kaitaistruct.ValidationLessThanError((-32768 if self.len_unit == 20 else self.len_unit - 20), self.len_bit_map, self._io, u"/types/unit/seq/3")
                if not self.len_bit_map <= self.len_unit - 20:
                    raise kaitaistruct.ValidationGreaterThanError(self.len_unit - 20, self.len_bit_map, self._io, u"/types/unit/seq/3")

            if self.is_unit:
                pass
                self.bit_map = self._io.read_bytes((self.len_bit_map if self.len_bit_map > 0 else 0))



        def _fetch_instances(self):
            pass
            if self.is_unit:
                pass

            if self.is_unit:
                pass

            if self.is_unit:
                pass

            if self.is_unit:
                pass

            _ = self.ahead
            if hasattr(self, '_m_ahead'):
                pass


        @property
        def ahead(self):
            """The length of the bit map, read before the fields between.
            
            .. seealso::
               CQ-EXT-5 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L453-L478
            """
            if hasattr(self, '_m_ahead'):
                return self._m_ahead

            if self._io.size() - self._io.pos() >= 18:
                pass
                _pos = self._io.pos()
                self._io.seek(self._io.pos() + 16)
                self._m_ahead = self._io.read_s2be()
                self._io.seek(_pos)

            return getattr(self, '_m_ahead', None)

        @property
        def is_unit(self):
            """Whether this is a unit at all, and not the end of the file's units; after the first one, its lengths must add up.
            
            .. seealso::
               CQ-EXT-5 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L453-L478
            """
            if hasattr(self, '_m_is_unit'):
                return self._m_is_unit

            self._m_is_unit =  ((self.len_unit > 0) and ( ((self._io.pos() == 2) or ( ((self._io.size() - self._io.pos() >= 18) and (self.len_unit - 2 <= self._io.size() - self._io.pos()) and (self.len_unit == 20 + (self.ahead if self.ahead > 0 else 0))) )) )) 
            return getattr(self, '_m_is_unit', None)


    @property
    def num_units(self):
        """Number of units, without the two bytes that end them.
        
        .. seealso::
           CQ-EXT-5 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L453-L478
        """
        if hasattr(self, '_m_num_units'):
            return self._m_num_units

        self._m_num_units = len(self.units) - 1
        return getattr(self, '_m_num_units', None)
