# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq5Timerwheel(KaitaiStruct):
    """The file `store/timerwheel` of 5.x, or a snapshot of it: 32-byte slots, one for each delivery time, which point to the
    units of the timer log that are delivered then.
    
    .. seealso::
       TIM-2 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerWheel.java#L63-L81
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(Rocketmq5Timerwheel, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self._raw_slots = []
        self.slots = []
        i = 0
        while not self._io.is_eof():
            self._raw_slots.append(self._io.read_bytes(32))
            _io__raw_slots = KaitaiStream(BytesIO(self._raw_slots[-1]))
            self.slots.append(Rocketmq5Timerwheel.Slot(_io__raw_slots, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.slots)):
            pass
            self.slots[i]._fetch_instances()


    class Slot(KaitaiStruct):
        """A delivery time, and the units of the timer log for it.
        
        .. seealso::
           TIM-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/Slot.java#L28-L33
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq5Timerwheel.Slot, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.delayed_time = self._io.read_s8be()
            self.ofs_first = self._io.read_s8be()
            self.ofs_last = self._io.read_s8be()
            self.num = self._io.read_s4be()
            self.magic = self._io.read_s4be()


        def _fetch_instances(self):
            pass
