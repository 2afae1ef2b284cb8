# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq4Checkpoint(KaitaiStruct):
    """The file `store/checkpoint` of a RocketMQ broker: how far commit log, consume queues and index are known to be on
    disk, as times. A broker that did not stop cleanly recovers from there.
    
    .. seealso::
       CKP-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/StoreCheckpoint.java#L48-L52
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(Rocketmq4Checkpoint, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.physic_msg_timestamp = self._io.read_s8be()
        self.logics_msg_timestamp = self._io.read_s8be()
        self.index_msg_timestamp = self._io.read_s8be()
        self.master_flushed_offset = self._io.read_s8be()
        self.confirm_phy_offset = self._io.read_s8be()
        self.logics_physical_offset = self._io.read_s8be()
        self.unused = self._io.read_bytes(4048)
        self.rest = self._io.read_bytes_full()


    def _fetch_instances(self):
        pass
