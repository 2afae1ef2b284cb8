# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from rocket_spec.kaitai._generated import commitlog


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class CommitlogLenient(KaitaiStruct):
    """The records of a commit-log file that a damage keeps `commitlog` from reading: wherever the magic of a record is
    found, with a length that fits, there may be one. A reader goes through `steps`, skips those without `is_record`, and
    takes `record` apart one by one: it is parsed when it is asked for, and an error there concerns that record only. A record
    is genuine if its `phy_offset` is the file's name plus `ofs_record`.
    
    Files of DLedger mode can be read in the same way.
    
    .. seealso::
       SPEC.md#log-file-2 LOG-FILE-2
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(CommitlogLenient, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.steps = []
        i = 0
        while not self._io.is_eof():
            self.steps.append(CommitlogLenient.Step(self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.steps)):
            pass
            self.steps[i]._fetch_instances()


    class Step(KaitaiStruct):
        """Bytes up to the first byte of what may be a magic, and the record there, if there is one.
        
        .. seealso::
           SPEC.md#log-rec-1 LOG-REC-1
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(CommitlogLenient.Step, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.before = self._io.read_bytes_term(218, False, False, False)
            self.found = self._io.read_bytes((1 if self.ofs_magic < self._io.size() else 0))


        def _fetch_instances(self):
            pass
            _ = self.len_total
            if hasattr(self, '_m_len_total'):
                pass

            _ = self.magic
            if hasattr(self, '_m_magic'):
                pass

            _ = self.record
            if hasattr(self, '_m_record'):
                pass
                self._m_record._fetch_instances()


        @property
        def is_record(self):
            """Whether a record with a length that fits may be here.
            
            .. seealso::
               SPEC.md#log-rec-3 LOG-REC-3
            """
            if hasattr(self, '_m_is_record'):
                return self._m_is_record

            self._m_is_record =  ((self.ofs_magic >= 4) and (self.ofs_magic + 4 <= self._io.size()) and ( ((self.magic == -626843481) or (self.magic == -626843477)) ) and (self.len_total >= 91) and (self.ofs_record + self.len_total <= self._io.size())) 
            return getattr(self, '_m_is_record', None)

        @property
        def len_total(self):
            """What may be the length of a record.
            
            .. seealso::
               SPEC.md#log-rec-3 LOG-REC-3
            """
            if hasattr(self, '_m_len_total'):
                return self._m_len_total

            if self.ofs_magic >= 4:
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_magic - 4)
                self._m_len_total = self._io.read_s4be()
                self._io.seek(_pos)

            return getattr(self, '_m_len_total', None)

        @property
        def magic(self):
            """What may be a magic.
            
            .. seealso::
               SPEC.md#log-rec-1 LOG-REC-1
            """
            if hasattr(self, '_m_magic'):
                return self._m_magic

            if self.ofs_magic + 4 <= self._io.size():
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_magic)
                self._m_magic = self._io.read_s4be()
                self._io.seek(_pos)

            return getattr(self, '_m_magic', None)

        @property
        def ofs_magic(self):
            """Offset in the file of what may be a magic. `found` asks for it first, so that it is the end of `before`.
            
            .. seealso::
               SPEC.md#log-rec-1 LOG-REC-1
            """
            if hasattr(self, '_m_ofs_magic'):
                return self._m_ofs_magic

            self._m_ofs_magic = self._io.pos()
            return getattr(self, '_m_ofs_magic', None)

        @property
        def ofs_record(self):
            """Offset of the record in the file.
            
            .. seealso::
               SPEC.md#log-rec-7 LOG-REC-7
            """
            if hasattr(self, '_m_ofs_record'):
                return self._m_ofs_record

            self._m_ofs_record = self.ofs_magic - 4
            return getattr(self, '_m_ofs_record', None)

        @property
        def record(self):
            """The record after its first two fields.
            
            .. seealso::
               SPEC.md#log-rec-1 LOG-REC-1
            """
            if hasattr(self, '_m_record'):
                return self._m_record

            if self.is_record:
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_magic + 4)
                self._raw__m_record = self._io.read_bytes(self.len_total - 8)
                _io__raw__m_record = KaitaiStream(BytesIO(self._raw__m_record))
                self._m_record = commitlog.Commitlog.Record(self.magic == -626843477, _io__raw__m_record)
                self._io.seek(_pos)

            return getattr(self, '_m_record', None)
