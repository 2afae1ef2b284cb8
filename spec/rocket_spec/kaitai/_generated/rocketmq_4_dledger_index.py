# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq4DledgerIndex(KaitaiStruct):
    """One file of DLedger's own index, `store/dledger-SELF_ID/index/BYTE_OFFSET`: 32-byte units, one for each entry of the
    log, at 32 times its number. Behind the last unit in use the file holds zeros, and so it does before the first one if
    the entries before it were deleted and a start has rebuilt the file.
    
    Not to be mixed up with the index files of `store/index/`, which find messages by key.
    
    .. seealso::
       DLG-6 - https://github.com/openmessaging/dledger
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(Rocketmq4DledgerIndex, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.units = []
        i = 0
        while True:
            _ = Rocketmq4DledgerIndex.Unit(self._io, self, self._root)
            self.units.append(_)
            if  ((self._io.is_eof()) or ( (((not (_.is_in_use))) and (i > 0) and (self.units[i - 1].is_in_use)) )) :
                break
            i += 1


    def _fetch_instances(self):
        pass
        for i in range(len(self.units)):
            pass
            self.units[i]._fetch_instances()


    class Unit(KaitaiStruct):
        """Where one entry is.
        
        .. seealso::
           DLG-6 - https://github.com/openmessaging/dledger
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq4DledgerIndex.Unit, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = self._io.read_s4be()
            self.pos = self._io.read_s8be()
            if not self.pos >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.pos, self._io, u"/types/unit/seq/1")
            self.len_entry = self._io.read_s4be()
            if not self.len_entry >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.len_entry, self._io, u"/types/unit/seq/2")
            self.index = self._io.read_s8be()
            self.term = self._io.read_s8be()


        def _fetch_instances(self):
            pass

        @property
        def is_in_use(self):
            """Whether a unit was written here.
            
            .. seealso::
               DLG-6 - https://github.com/openmessaging/dledger
            """
            if hasattr(self, '_m_is_in_use'):
                return self._m_is_in_use

            self._m_is_in_use = self.magic != 0
            return getattr(self, '_m_is_in_use', None)
