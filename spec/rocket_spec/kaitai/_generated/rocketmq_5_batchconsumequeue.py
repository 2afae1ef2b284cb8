# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq5Batchconsumequeue(KaitaiStruct):
    """One file of a batch consume queue of 5.x, `store/batchconsumequeue/TOPIC/QUEUE_ID/BYTE_OFFSET`: 46-byte units, one for
    each record of the queue, which may contain several messages. After the last unit in use the file holds zeros.
    
    .. seealso::
       BCQ-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(Rocketmq5Batchconsumequeue, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self._raw_units = []
        self.units = []
        i = 0
        while not self._io.is_eof():
            self._raw_units.append(self._io.read_bytes(46))
            _io__raw_units = KaitaiStream(BytesIO(self._raw_units[-1]))
            self.units.append(Rocketmq5Batchconsumequeue.Unit(_io__raw_units, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.units)):
            pass
            self.units[i]._fetch_instances()


    class Unit(KaitaiStruct):
        """Where one record is in the commit log, and which messages it contains.
        
        .. seealso::
           BCQ-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq5Batchconsumequeue.Unit, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.phy_offset = self._io.read_s8be()
            self.len_record = self._io.read_s4be()
            self.tags_code = self._io.read_s8be()
            self.store_timestamp = self._io.read_s8be()
            self.base_offset = self._io.read_s8be()
            self.len_batch = self._io.read_s2be()
            self.compacted_offset = self._io.read_s4be()
            self.reserved = self._io.read_s4be()


        def _fetch_instances(self):
            pass

        @property
        def is_in_use(self):
            """Whether recovery takes this for a unit.
            
            .. seealso::
               BCQ-4 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L231-L286
            """
            if hasattr(self, '_m_is_in_use'):
                return self._m_is_in_use

            self._m_is_in_use =  ((self.phy_offset >= 0) and (self.len_record > 0) and (self.base_offset >= 0) and (self.len_batch > 0)) 
            return getattr(self, '_m_is_in_use', None)
