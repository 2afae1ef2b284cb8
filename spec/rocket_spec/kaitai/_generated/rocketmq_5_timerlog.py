# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq5Timerlog(KaitaiStruct):
    """One file of the timer log of 5.x, `store/timerlog/BYTE_OFFSET`: 52-byte units, linked per slot of the timer wheel, and a
    blank that ends a full file.
    
    .. seealso::
       TIM-3 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(Rocketmq5Timerlog, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.frames = []
        i = 0
        while True:
            _ = Rocketmq5Timerlog.Frame(self._io, self, self._root)
            self.frames.append(_)
            if  (((not (_.is_unit))) or (self._io.size() - self._io.pos() < 16)) :
                break
            i += 1


    def _fetch_instances(self):
        pass
        for i in range(len(self.frames)):
            pass
            self.frames[i]._fetch_instances()


    class Frame(KaitaiStruct):
        """The fields that units and blanks have, and the rest of a unit.
        
        .. seealso::
           TIM-4 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L65-L96
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq5Timerlog.Frame, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_unit = self._io.read_s4be()
            self.ofs_prev = self._io.read_s8be()
            self.magic = self._io.read_s4be()
            if self.is_unit:
                pass
                self.unit = Rocketmq5Timerlog.Unit(self._io, self, self._root)



        def _fetch_instances(self):
            pass
            if self.is_unit:
                pass
                self.unit._fetch_instances()


        @property
        def is_blank(self):
            """Whether this is the blank that ends a full file; `len_unit` is then the number of bytes up to its end.
            
            .. seealso::
               TIM-4 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L65-L96
            """
            if hasattr(self, '_m_is_blank'):
                return self._m_is_blank

            self._m_is_blank = self.magic == -875286124
            return getattr(self, '_m_is_blank', None)

        @property
        def is_unit(self):
            """Whether a unit follows.
            
            .. seealso::
               TIM-3 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41
            """
            if hasattr(self, '_m_is_unit'):
                return self._m_is_unit

            self._m_is_unit =  ((self.len_unit == 52) and ((not (self.is_blank)))) 
            return getattr(self, '_m_is_unit', None)


    class Unit(KaitaiStruct):
        """One message that waits, or a deletion of one.
        
        .. seealso::
           TIM-3 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq5Timerlog.Unit, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.write_time = self._io.read_s8be()
            self.delay = self._io.read_s4be()
            self.phy_offset = self._io.read_s8be()
            self.len_record = self._io.read_s4be()
            self.topic_hash = self._io.read_s4be()
            self.reserved = self._io.read_s8be()


        def _fetch_instances(self):
            pass
