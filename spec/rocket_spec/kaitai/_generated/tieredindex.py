# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Tieredindex(KaitaiStruct):
    """An index file of the tiered store of 5.x. Its geometry is not in the file. `Table` reads one in use, of a number of slots
    and items; `Compacted` one of `tiered_index_file/compacting`, whose first slot shows the number of slots.
    
    .. seealso::
       SPEC.md#tix-1 TIX-1
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(Tieredindex, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.header = Tieredindex.Header(self._io, self, self._root)


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()

    class Compacted(KaitaiStruct):
        """A compacted file.
        
        .. seealso::
           SPEC.md#tix-4 TIX-4
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Tieredindex.Compacted, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = Tieredindex.Header(self._io, self, self._root)
            self.first_slot = Tieredindex.CompactedSlot(self._io, self, self._root)
            self.other_slots = []
            for i in range((self.first_slot.ofs_items - 28) // 8 - 1):
                self.other_slots.append(Tieredindex.CompactedSlot(self._io, self, self._root))

            self.items = []
            i = 0
            while not self._io.is_eof():
                self.items.append(Tieredindex.CompactedItem(self._io, self, self._root))
                i += 1



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.first_slot._fetch_instances()
            for i in range(len(self.other_slots)):
                pass
                self.other_slots[i]._fetch_instances()

            for i in range(len(self.items)):
                pass
                self.items[i]._fetch_instances()



    class CompactedItem(KaitaiStruct):
        """One key of one message.
        
        .. seealso::
           SPEC.md#tix-4 TIX-4
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Tieredindex.CompactedItem, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.key_hash = self._io.read_s4be()
            self.topic_id = self._io.read_s4be()
            self.queue_id = self._io.read_s4be()
            self.ofs_record = self._io.read_s8be()
            self.len_record = self._io.read_s4be()
            self.time_diff = self._io.read_s4be()


        def _fetch_instances(self):
            pass


    class CompactedSlot(KaitaiStruct):
        """Where the items of a slot are.
        
        .. seealso::
           SPEC.md#tix-4 TIX-4
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Tieredindex.CompactedSlot, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.ofs_items = self._io.read_s4be()
            self.len_items = self._io.read_s4be()


        def _fetch_instances(self):
            pass


    class Header(KaitaiStruct):
        """Magic, times and numbers.
        
        .. seealso::
           SPEC.md#tix-1 TIX-1
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Tieredindex.Header, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = self._io.read_s4be()
            if not  ((self.magic == -1127939447) or (self.magic == -1127939451)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.magic, self._io, u"/types/header/seq/0")
            self.begin_timestamp = self._io.read_s8be()
            self.end_timestamp = self._io.read_s8be()
            self.num_used_slots = self._io.read_s4be()
            self.num_items = self._io.read_s4be()


        def _fetch_instances(self):
            pass


    class Item(KaitaiStruct):
        """One key of one message.
        
        .. seealso::
           SPEC.md#tix-3 TIX-3
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Tieredindex.Item, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.key_hash = self._io.read_s4be()
            self.topic_id = self._io.read_s4be()
            self.queue_id = self._io.read_s4be()
            self.ofs_record = self._io.read_s8be()
            self.len_record = self._io.read_s4be()
            self.time_diff = self._io.read_s4be()
            self.prev_item = self._io.read_s4be()


        def _fetch_instances(self):
            pass


    class Slot(KaitaiStruct):
        """The newest item of a chain.
        
        .. seealso::
           SPEC.md#tix-2 TIX-2
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(Tieredindex.Slot, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.item = self._io.read_s4be()
            self.unused = self._io.read_s4be()


        def _fetch_instances(self):
            pass


    class Table(KaitaiStruct):
        """A file in use.
        
        .. seealso::
           SPEC.md#tix-2 TIX-2
        """
        def __init__(self, hash_slot_num, index_num, _io, _parent=None, _root=None):
            super(Tieredindex.Table, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.hash_slot_num = hash_slot_num
            self.index_num = index_num
            self._read()

        def _read(self):
            self.header = Tieredindex.Header(self._io, self, self._root)
            self.slots = []
            for i in range(self.hash_slot_num):
                self.slots.append(Tieredindex.Slot(self._io, self, self._root))

            self.items = []
            for i in range(self.index_num):
                self.items.append(Tieredindex.Item(self._io, self, self._root))



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            for i in range(len(self.slots)):
                pass
                self.slots[i]._fetch_instances()

            for i in range(len(self.items)):
                pass
                self.items[i]._fetch_instances()
