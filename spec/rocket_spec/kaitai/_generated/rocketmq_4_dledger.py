# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from rocket_spec.kaitai._generated import rocketmq_4_commitlog


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq4Dledger(KaitaiStruct):
    """One file of the commit log of a RocketMQ broker in DLedger mode, `store/dledger-SELF_ID/data/BYTE_OFFSET`: entries one
    after the other, each a header of 48 bytes and a body, which is a record of the plain commit log. A blank ends a
    full file; the last file ends in zeros, or in entries that a truncation gave up.
    
    Physical offsets, in the records, in consume queues and in index files, are those of the bodies.
    
    .. seealso::
       DLG-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/dledger/DLedgerCommitLog.java#L85-L95
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(Rocketmq4Dledger, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.entries = []
        i = 0
        while True:
            _ = Rocketmq4Dledger.Entry(self._io, self, self._root)
            self.entries.append(_)
            if  (((not (_.is_entry))) or (self._io.size() - self._io.pos() < 8)) :
                break
            i += 1


    def _fetch_instances(self):
        pass
        for i in range(len(self.entries)):
            pass
            self.entries[i]._fetch_instances()


    class Entry(KaitaiStruct):
        """A header, and a record of the commit log after it.
        
        .. seealso::
           DLG-2 - https://github.com/openmessaging/dledger
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq4Dledger.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = self._io.read_s4be()
            self.len_entry = self._io.read_s4be()
            if self.is_entry:
                pass
                self.index = self._io.read_s8be()

            if self.is_entry:
                pass
                self.term = self._io.read_s8be()

            if self.is_entry:
                pass
                self.pos = self._io.read_s8be()
                if not self.pos >= 0:
                    raise kaitaistruct.ValidationLessThanError(0, self.pos, self._io, u"/types/entry/seq/4")

            if self.is_entry:
                pass
                self.channel = self._io.read_s4be()

            if self.is_entry:
                pass
                self.chain_crc = self._io.read_s4be()

            if self.is_entry:
                pass
                self.body_crc = self._io.read_s4be()

            if self.is_entry:
                pass
                self.len_body = self._io.read_s4be()
                if not self.len_body == self.len_entry - 48:
                    raise kaitaistruct.ValidationNotEqualError(self.len_entry - 48, self.len_body, self._io, u"/types/entry/seq/8")

            if self.is_entry:
                pass
                self._raw_body = self._io.read_bytes(self.len_body)
                _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
                self.body = rocketmq_4_commitlog.Rocketmq4Commitlog.Frame(_io__raw_body)

            if self.is_blank:
                pass
                self.unused = self._io.read_bytes(self.len_entry - 8)

            if self.is_blank:
                pass
                self.rest = self._io.read_bytes_full()
                if not self.rest == b"":
                    raise kaitaistruct.ValidationNotEqualError(b"", self.rest, self._io, u"/types/entry/seq/11")



        def _fetch_instances(self):
            pass
            if self.is_entry:
                pass

            if self.is_entry:
                pass

            if self.is_entry:
                pass

            if self.is_entry:
                pass

            if self.is_entry:
                pass

            if self.is_entry:
                pass

            if self.is_entry:
                pass

            if self.is_entry:
                pass
                self.body._fetch_instances()

            if self.is_blank:
                pass

            if self.is_blank:
                pass


        @property
        def is_blank(self):
            """Whether this is the blank that ends a full file.
            
            .. seealso::
               DLG-5 - https://github.com/openmessaging/dledger
            """
            if hasattr(self, '_m_is_blank'):
                return self._m_is_blank

            self._m_is_blank = self.magic == -1
            return getattr(self, '_m_is_blank', None)

        @property
        def is_entry(self):
            """Whether an entry follows.
            
            .. seealso::
               DLG-2 - https://github.com/openmessaging/dledger
            """
            if hasattr(self, '_m_is_entry'):
                return self._m_is_entry

            self._m_is_entry = self.magic == 1
            return getattr(self, '_m_is_entry', None)

        @property
        def phy_offset(self):
            """Physical offset of the record, as consume queues and index files hold it.
            
            .. seealso::
               DLG-4 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/dledger/DLedgerCommitLog.java#L100-L105
            """
            if hasattr(self, '_m_phy_offset'):
                return self._m_phy_offset

            if self.is_entry:
                pass
                self._m_phy_offset = (self.pos + 48)

            return getattr(self, '_m_phy_offset', None)
