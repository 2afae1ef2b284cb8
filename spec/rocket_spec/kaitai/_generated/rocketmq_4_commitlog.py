# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Rocketmq4Commitlog(KaitaiStruct):
    """One file of a RocketMQ broker's commit log, `store/commitlog/BYTE_OFFSET`: records one after the other, each a
    message of any topic. A blank ends a full file; the last file ends in zeros, or in what a truncation gave up.
    
    Topic and properties are given as bytes: they are UTF-8, but a broker decodes malformed bytes in Java's own way
    (UTF8-1), and a reader in another language would rather fail.
    
    .. seealso::
       LOG-REC-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587
    """

    class Magic(IntEnum):
        blank = -875286124
        message = -626843481
        message_v2 = -626843477
    def __init__(self, _io, _parent=None, _root=None):
        super(Rocketmq4Commitlog, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.frames = []
        i = 0
        while True:
            _ = Rocketmq4Commitlog.Frame(self._io, self, self._root)
            self.frames.append(_)
            if  (((not (_.is_record))) or (self._io.size() - self._io.pos() < 8)) :
                break
            i += 1


    def _fetch_instances(self):
        pass
        for i in range(len(self.frames)):
            pass
            self.frames[i]._fetch_instances()


    class Frame(KaitaiStruct):
        """A length and a magic, and what the magic says.
        
        .. seealso::
           LOG-REC-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Rocketmq4Commitlog.Frame, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_total = self._io.read_s4be()
            self.magic = KaitaiStream.resolve_enum(Rocketmq4Commitlog.Magic, self._io.read_s4be())
            if self.is_record:
                pass
                self._raw_record = self._io.read_bytes(self.len_total - 8)
                _io__raw_record = KaitaiStream(BytesIO(self._raw_record))
                self.record = Rocketmq4Commitlog.Record(self.is_v2, _io__raw_record, self, self._root)

            if self.is_blank:
                pass
                self.unused = self._io.read_bytes(self.len_total - 8)

            if self.is_blank:
                pass
                self.rest = self._io.read_bytes_full()
                if not self.rest == b"":
                    raise kaitaistruct.ValidationNotEqualError(b"", self.rest, self._io, u"/types/frame/seq/4")



        def _fetch_instances(self):
            pass
            if self.is_record:
                pass
                self.record._fetch_instances()

            if self.is_blank:
                pass

            if self.is_blank:
                pass


        @property
        def is_blank(self):
            """Whether this is the blank that ends a full file.
            
            .. seealso::
               LOG-BLANK-2 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L298-L299
            """
            if hasattr(self, '_m_is_blank'):
                return self._m_is_blank

            self._m_is_blank = self.magic == Rocketmq4Commitlog.Magic.blank
            return getattr(self, '_m_is_blank', None)

        @property
        def is_record(self):
            """Whether a record follows.
            
            .. seealso::
               LOG-REC-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587
            """
            if hasattr(self, '_m_is_record'):
                return self._m_is_record

            self._m_is_record =  ((self.magic == Rocketmq4Commitlog.Magic.message) or (self.is_v2)) 
            return getattr(self, '_m_is_record', None)

        @property
        def is_v2(self):
            """Whether the record's topic has a length of two bytes.
            
            .. seealso::
               LOG-REC-10 - https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1016-L1021
            """
            if hasattr(self, '_m_is_v2'):
                return self._m_is_v2

            self._m_is_v2 = self.magic == Rocketmq4Commitlog.Magic.message_v2
            return getattr(self, '_m_is_v2', None)


    class Host(KaitaiStruct):
        """Internet address and port.
        
        .. seealso::
           LOG-REC-2 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335
        """
        def __init__(self, is_ipv6, _io, _parent=None, _root=None):
            super(Rocketmq4Commitlog.Host, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.is_ipv6 = is_ipv6
            self._read()

        def _read(self):
            self.address = self._io.read_bytes((16 if self.is_ipv6 else 4))
            self.port = self._io.read_s4be()
            if not self.port >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.port, self._io, u"/types/host/seq/1")
            if not self.port <= 65535:
                raise kaitaistruct.ValidationGreaterThanError(65535, self.port, self._io, u"/types/host/seq/1")


        def _fetch_instances(self):
            pass


    class Record(KaitaiStruct):
        """One message, as the broker stored it.
        
        .. seealso::
           LOG-REC-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587
        """
        def __init__(self, is_v2, _io, _parent=None, _root=None):
            super(Rocketmq4Commitlog.Record, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.is_v2 = is_v2
            self._read()

        def _read(self):
            self.body_crc = self._io.read_s4be()
            if not self.body_crc >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.body_crc, self._io, u"/types/record/seq/0")
            self.queue_id = self._io.read_s4be()
            self.flag = self._io.read_s4be()
            self.queue_offset = self._io.read_s8be()
            if not self.queue_offset >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.queue_offset, self._io, u"/types/record/seq/3")
            self.phy_offset = self._io.read_s8be()
            if not self.phy_offset >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.phy_offset, self._io, u"/types/record/seq/4")
            self.sys_flag = self._io.read_s4be()
            self.born_timestamp = self._io.read_s8be()
            self.born_host = Rocketmq4Commitlog.Host(self.is_born_host_ipv6, self._io, self, self._root)
            self.store_timestamp = self._io.read_s8be()
            self.store_host = Rocketmq4Commitlog.Host(self.is_store_host_ipv6, self._io, self, self._root)
            self.reconsume_times = self._io.read_s4be()
            self.prepared_transaction_offset = self._io.read_s8be()
            self.len_body = self._io.read_s4be()
            if not self.len_body >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.len_body, self._io, u"/types/record/seq/12")
            self.body = self._io.read_bytes(self.len_body)
            if (not (self.is_v2)):
                pass
                self.len_topic = self._io.read_s1()
                if not self.len_topic >= 0:
                    raise kaitaistruct.ValidationLessThanError(0, self.len_topic, self._io, u"/types/record/seq/14")

            if self.is_v2:
                pass
                self.len_topic_v2 = self._io.read_s2be()
                if not self.len_topic_v2 >= 0:
                    raise kaitaistruct.ValidationLessThanError(0, self.len_topic_v2, self._io, u"/types/record/seq/15")

            self.topic = self._io.read_bytes((self.len_topic_v2 if self.is_v2 else self.len_topic))
            self.len_properties = self._io.read_s2be()
            if not self.len_properties == self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationNotEqualError(self._io.size() - self._io.pos(), self.len_properties, self._io, u"/types/record/seq/17")
            self.properties = self._io.read_bytes(self.len_properties)


        def _fetch_instances(self):
            pass
            self.born_host._fetch_instances()
            self.store_host._fetch_instances()
            if (not (self.is_v2)):
                pass

            if self.is_v2:
                pass


        @property
        def is_born_host_ipv6(self):
            """Whether the client's address has 16 bytes.
            
            .. seealso::
               LOG-REC-2 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335
            """
            if hasattr(self, '_m_is_born_host_ipv6'):
                return self._m_is_born_host_ipv6

            self._m_is_born_host_ipv6 = self.sys_flag & 16 != 0
            return getattr(self, '_m_is_born_host_ipv6', None)

        @property
        def is_compressed(self):
            """Whether the client compressed the body.
            
            .. seealso::
               LOG-REC-5 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/common/src/main/java/org/apache/rocketmq/common/sysflag/MessageSysFlag.java#L20
            """
            if hasattr(self, '_m_is_compressed'):
                return self._m_is_compressed

            self._m_is_compressed = self.sys_flag & 1 != 0
            return getattr(self, '_m_is_compressed', None)

        @property
        def is_multi_tags(self):
            """Whether the client marked TAGS as several; it changes nothing.
            
            .. seealso::
               CQ-TAGS-1 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L377-L380
            """
            if hasattr(self, '_m_is_multi_tags'):
                return self._m_is_multi_tags

            self._m_is_multi_tags = self.sys_flag & 2 != 0
            return getattr(self, '_m_is_multi_tags', None)

        @property
        def is_store_host_ipv6(self):
            """Whether the broker's address has 16 bytes.
            
            .. seealso::
               LOG-REC-2 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335
            """
            if hasattr(self, '_m_is_store_host_ipv6'):
                return self._m_is_store_host_ipv6

            self._m_is_store_host_ipv6 = self.sys_flag & 32 != 0
            return getattr(self, '_m_is_store_host_ipv6', None)

        @property
        def transaction_type(self):
            """0 NOT, 4 PREPARED, 8 COMMIT, 12 ROLLBACK.
            
            .. seealso::
               LOG-REC-5 - https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/common/src/main/java/org/apache/rocketmq/common/sysflag/MessageSysFlag.java#L20
            """
            if hasattr(self, '_m_transaction_type'):
                return self._m_transaction_type

            self._m_transaction_type = self.sys_flag & 12
            return getattr(self, '_m_transaction_type', None)
