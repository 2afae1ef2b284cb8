// Package example is what main.go calls: an index file as RocketMQ 4.9.3 keeps it, small and slow. Yours replaces it.
package example

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

const headerSize, slotSize, entrySize = 40, 4, 20

var errOutside = errors.New("outside the file")
var errNoSlots = errors.New("no slots")

// Header is kept in memory; each change goes through to the file.
type Header struct {
	BeginTimestamp, EndTimestamp, BeginPhyOffset, EndPhyOffset int64
	HashSlotCount, IndexCount                                  int32
}

// IndexFile is an open file, of which the first size bytes count. Positions are int32 and may wrap, as Java's do.
type IndexFile struct {
	Header   Header
	file     *os.File
	size     int32
	slots    int32
	capacity int32
}

// StringHash is Java's hashCode over UTF-16 code units.
func StringHash(units []uint16) int32 {
	var hash int32
	for _, unit := range units {
		hash = 31*hash + int32(unit)
	}
	return hash
}

// KeyHash is Math.abs of the StringHash; the one negative result of abs counts as 0.
func KeyHash(units []uint16) int32 {
	hash := StringHash(units)
	if hash < 0 {
		hash = -hash
	}
	return max0(hash)
}

func max0(value int32) int32 {
	if value < 0 {
		return 0
	}
	return value
}

// Open makes the file, or extends it with zeros; seeds count only when above 0, and are written before a load.
func Open(path string, slots, entries int32, endPhyOffset, endTimestamp int64, load bool) (*IndexFile, error) {
	if _, err := strconv.ParseInt(filepath.Base(path), 10, 64); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	f := &IndexFile{file: file, slots: slots, capacity: entries, Header: Header{IndexCount: 1}}
	f.size = headerSize + slots*slotSize + entries*entrySize
	if err := f.prepare(endPhyOffset, endTimestamp, load); err != nil {
		file.Close()
		return nil, err
	}
	return f, nil
}

func (f *IndexFile) prepare(endPhyOffset, endTimestamp int64, load bool) error {
	if f.size < 0 {
		return fmt.Errorf("negative size %d", f.size)
	}
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < int64(f.size) {
		if err := f.file.Truncate(int64(f.size)); err != nil {
			return err
		}
	}
	w := writer{f: f}
	if endPhyOffset > 0 {
		w.long(16, &f.Header.BeginPhyOffset, endPhyOffset)
		w.long(24, &f.Header.EndPhyOffset, endPhyOffset)
	}
	if endTimestamp > 0 {
		w.long(0, &f.Header.BeginTimestamp, endTimestamp)
		w.long(8, &f.Header.EndTimestamp, endTimestamp)
	}
	if load && w.err == nil {
		return f.load()
	}
	return w.err
}

func (f *IndexFile) load() error {
	data, err := f.read(0, headerSize)
	if err != nil {
		return err
	}
	long := func(at int) int64 { return int64(binary.BigEndian.Uint64(data[at:])) }
	f.Header = Header{long(0), long(8), long(16), long(24),
		int32(binary.BigEndian.Uint32(data[32:])), int32(binary.BigEndian.Uint32(data[36:]))}
	if f.Header.IndexCount <= 0 {
		f.Header.IndexCount = 1
	}
	return nil
}

// Put adds an entry. Full, or a write outside the file: false, and what was written before it stays.
func (f *IndexFile) Put(key []uint16, phyOffset, storeTimestamp int64) (bool, error) {
	if f.Full() {
		return false, nil
	}
	hash := KeyHash(key)
	slot, err := f.slotPosition(hash)
	if err != nil {
		return false, err
	}
	previous, err := f.readInt(slot)
	if err != nil {
		return false, nil
	}
	h := &f.Header
	count := h.IndexCount
	if previous <= 0 || previous > count {
		previous = 0
	}
	entry := headerSize + f.slots*slotSize + count*entrySize
	w := writer{f: f}
	w.int(entry, nil, hash)
	w.long(entry+4, nil, phyOffset)
	w.int(entry+12, nil, f.timeDiff(storeTimestamp))
	w.int(entry+16, nil, previous)
	w.int(slot, nil, count)
	if count <= 1 {
		w.long(16, &h.BeginPhyOffset, phyOffset)
		w.long(0, &h.BeginTimestamp, storeTimestamp)
	}
	if previous == 0 {
		w.int(32, &h.HashSlotCount, h.HashSlotCount+1)
	}
	w.int(36, &h.IndexCount, count+1)
	w.long(24, &h.EndPhyOffset, phyOffset)
	w.long(8, &h.EndTimestamp, storeTimestamp)
	return w.err == nil, nil
}

// timeDiff is in whole seconds since the header's begin; the subtraction wraps.
func (f *IndexFile) timeDiff(storeTimestamp int64) int32 {
	seconds := (storeTimestamp - f.Header.BeginTimestamp) / 1000
	switch {
	case f.Header.BeginTimestamp <= 0 || seconds < 0:
		return 0
	case seconds > math.MaxInt32:
		return math.MaxInt32
	}
	return int32(seconds)
}

// Select appends the offsets of entries with the key's hash to offsets, newest first, until there are maxNum.
func (f *IndexFile) Select(offsets []int64, key []uint16, maxNum int32, begin, end int64) ([]int64, error) {
	hash := KeyHash(key)
	slot, err := f.slotPosition(hash)
	if err != nil {
		return nil, err
	}
	count := f.Header.IndexCount
	entry, err := f.readInt(slot)
	if err != nil || entry <= 0 || entry > count || count <= 1 {
		return offsets, nil
	}
	for int64(len(offsets)) < int64(maxNum) {
		data, err := f.read(headerSize+f.slots*slotSize+entry*entrySize, entrySize)
		if err != nil {
			break
		}
		timeDiff := int32(binary.BigEndian.Uint32(data[12:]))
		previous := int32(binary.BigEndian.Uint32(data[16:]))
		if timeDiff < 0 {
			break
		}
		time := f.Header.BeginTimestamp + int64(timeDiff)*1000
		if int32(binary.BigEndian.Uint32(data)) == hash && begin <= time && time <= end {
			offsets = append(offsets, int64(binary.BigEndian.Uint64(data[4:])))
		}
		if previous <= 0 || previous > count || previous == entry || time < begin {
			break
		}
		entry = previous
	}
	return offsets, nil
}

// TimeMatched reports whether the window covers the file, or begins or ends within it.
func (f *IndexFile) TimeMatched(begin, end int64) bool {
	first, last := f.Header.BeginTimestamp, f.Header.EndTimestamp
	return begin < first && end > last || first <= begin && begin <= last || first <= end && end <= last
}

// Full reports whether the next put would be refused.
func (f *IndexFile) Full() bool { return f.Header.IndexCount >= f.capacity }

// Flush writes the header in memory to the file.
func (f *IndexFile) Flush() error {
	w, h := writer{f: f}, &f.Header
	w.long(0, nil, h.BeginTimestamp)
	w.long(8, nil, h.EndTimestamp)
	w.long(16, nil, h.BeginPhyOffset)
	w.long(24, nil, h.EndPhyOffset)
	w.int(32, nil, h.HashSlotCount)
	w.int(36, nil, h.IndexCount)
	return w.err
}

// Close frees the file, and writes nothing.
func (f *IndexFile) Close() { f.file.Close() }

func (f *IndexFile) slotPosition(hash int32) (int32, error) {
	if f.slots == 0 {
		return 0, errNoSlots
	}
	return headerSize + hash%f.slots*slotSize, nil
}

func (f *IndexFile) inside(position int32, length int64) bool {
	return position >= 0 && int64(position)+length <= int64(f.size)
}

func (f *IndexFile) read(position int32, length int64) ([]byte, error) {
	if !f.inside(position, length) {
		return nil, errOutside
	}
	data := make([]byte, length)
	_, err := f.file.ReadAt(data, int64(position))
	return data, err
}

func (f *IndexFile) readInt(position int32) (int32, error) {
	data, err := f.read(position, 4)
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(data)), nil
}

// writer writes one value after another until one fails. A header field is set before its bytes, as Java does.
type writer struct {
	f   *IndexFile
	err error
}

func (w *writer) int(position int32, field *int32, value int32) {
	if w.err == nil {
		if field != nil {
			*field = value
		}
		w.bytes(position, binary.BigEndian.AppendUint32(nil, uint32(value)))
	}
}

func (w *writer) long(position int32, field *int64, value int64) {
	if w.err == nil {
		if field != nil {
			*field = value
		}
		w.bytes(position, binary.BigEndian.AppendUint64(nil, uint64(value)))
	}
}

func (w *writer) bytes(position int32, data []byte) {
	if !w.f.inside(position, int64(len(data))) {
		w.err = errOutside
		return
	}
	_, w.err = w.f.file.WriteAt(data, int64(position))
}
