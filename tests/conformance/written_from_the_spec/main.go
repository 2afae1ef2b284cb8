// An index file written from SPEC.md and PROTOCOL.md alone: put, select, time match, load and flush as an adapter.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

var errOutside = errors.New("outside the mapped length")

type indexFile struct {
	file                         *os.File
	size                         int32 // mapped length
	slots, entries               int32
	beginTimestamp, endTimestamp int64
	beginPhyOffset, endPhyOffset int64
	hashSlotCount, indexCount    int32
}

// keyHash is IDX-HASH-1 and IDX-HASH-2.
func keyHash(units []uint16) int32 {
	var h int32
	for _, unit := range units {
		h = 31*h + int32(unit)
	}
	if h == math.MinInt32 {
		return 0
	}
	if h < 0 {
		return -h
	}
	return h
}

// isJavaLong is IDX-FILE-4: what Java's Long.parseLong takes.
func isJavaLong(name string) bool {
	units := utf16.Encode([]rune(name))
	negative := false
	if len(units) > 0 && (units[0] == '-' || units[0] == '+') {
		negative = units[0] == '-'
		units = units[1:]
	}
	if len(units) == 0 {
		return false
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	var value uint64
	for _, unit := range units {
		if !unicode.Is(unicode.Nd, rune(unit)) {
			return false
		}
		zero := rune(unit)
		for unicode.Is(unicode.Nd, zero-1) && rune(unit)-zero < 9 {
			zero--
		}
		digit := uint64(rune(unit) - zero)
		if value > (limit-digit)/10 {
			return false
		}
		value = value*10 + digit
	}
	return true
}

func open(path string, slots, entries int32, endPhyOffset, endTimestamp int64, load bool) (*indexFile, error) {
	if !isJavaLong(filepath.Base(path)) { // IDX-FILE-4
		return nil, fmt.Errorf("%s is not a long", filepath.Base(path))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { // IDX-FILE-1
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	f := &indexFile{file: file, slots: slots, entries: entries, indexCount: 1}
	f.size = 40 + 4*slots + 20*entries // IDX-FILE-3: wraps
	if err := f.prepare(endPhyOffset, endTimestamp, load); err != nil {
		file.Close()
		return nil, err
	}
	return f, nil
}

func (f *indexFile) prepare(endPhyOffset, endTimestamp int64, load bool) error {
	if f.size < 0 { // IDX-FILE-3
		return errors.New("negative size")
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
	if endPhyOffset > 0 { // IDX-FILE-2
		if err := f.setI64(16, &f.beginPhyOffset, endPhyOffset); err != nil {
			return err
		}
		if err := f.setI64(24, &f.endPhyOffset, endPhyOffset); err != nil {
			return err
		}
	}
	if endTimestamp > 0 {
		if err := f.setI64(0, &f.beginTimestamp, endTimestamp); err != nil {
			return err
		}
		if err := f.setI64(8, &f.endTimestamp, endTimestamp); err != nil {
			return err
		}
	}
	if load {
		return f.load()
	}
	return nil
}

func (f *indexFile) load() error { // IDX-LOAD-1, IDX-LOAD-2
	header := make([]byte, 40)
	if err := f.read(0, header); err != nil {
		return err
	}
	f.beginTimestamp = int64(binary.BigEndian.Uint64(header))
	f.endTimestamp = int64(binary.BigEndian.Uint64(header[8:]))
	f.beginPhyOffset = int64(binary.BigEndian.Uint64(header[16:]))
	f.endPhyOffset = int64(binary.BigEndian.Uint64(header[24:]))
	f.hashSlotCount = int32(binary.BigEndian.Uint32(header[32:]))
	f.indexCount = int32(binary.BigEndian.Uint32(header[36:]))
	if f.indexCount <= 0 {
		f.indexCount = 1
	}
	return nil
}

func (f *indexFile) flush() error { // IDX-FLUSH-1
	steps := []func() error{
		func() error { return f.setI64(0, &f.beginTimestamp, f.beginTimestamp) },
		func() error { return f.setI64(8, &f.endTimestamp, f.endTimestamp) },
		func() error { return f.setI64(16, &f.beginPhyOffset, f.beginPhyOffset) },
		func() error { return f.setI64(24, &f.endPhyOffset, f.endPhyOffset) },
		func() error { return f.setI32(32, &f.hashSlotCount, f.hashSlotCount) },
		func() error { return f.setI32(36, &f.indexCount, f.indexCount) },
		f.file.Sync,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (f *indexFile) inside(position int32, length int) bool {
	return position >= 0 && int64(position)+int64(length) <= int64(f.size)
}

func (f *indexFile) read(position int32, data []byte) error {
	if !f.inside(position, len(data)) {
		return errOutside
	}
	_, err := f.file.ReadAt(data, int64(position))
	return err
}

func (f *indexFile) write(position int32, data []byte) error {
	if !f.inside(position, len(data)) {
		return errOutside
	}
	_, err := f.file.WriteAt(data, int64(position))
	return err
}

func (f *indexFile) readI32(position int32) (int32, error) {
	var data [4]byte
	err := f.read(position, data[:])
	return int32(binary.BigEndian.Uint32(data[:])), err
}

func (f *indexFile) readI64(position int32) (int64, error) {
	var data [8]byte
	err := f.read(position, data[:])
	return int64(binary.BigEndian.Uint64(data[:])), err
}

func (f *indexFile) writeI32(position, value int32) error {
	var data [4]byte
	binary.BigEndian.PutUint32(data[:], uint32(value))
	return f.write(position, data[:])
}

func (f *indexFile) writeI64(position int32, value int64) error {
	var data [8]byte
	binary.BigEndian.PutUint64(data[:], uint64(value))
	return f.write(position, data[:])
}

// A header field is assigned in memory, then in the file ("Put, step by step").
func (f *indexFile) setI64(position int32, field *int64, value int64) error {
	*field = value
	return f.writeI64(position, value)
}

func (f *indexFile) setI32(position int32, field *int32, value int32) error {
	*field = value
	return f.writeI32(position, value)
}

func (f *indexFile) full() bool { return f.indexCount >= f.entries } // IDX-FULL-1

// put returns whether the put was made; an error is a rejection (IDX-PUT-10).
func (f *indexFile) put(key []uint16, phyOffset, storeTimestamp int64) (bool, error) {
	if f.full() { // IDX-PUT-1
		return false, nil
	}
	if f.slots == 0 { // IDX-PUT-10
		return false, errors.New("zero slots")
	}
	err := f.append(keyHash(key), phyOffset, storeTimestamp)
	return err == nil, nil // IDX-PUT-9
}

func (f *indexFile) append(hash int32, phyOffset, storeTimestamp int64) error {
	slot := 40 + 4*(hash%f.slots)             // IDX-HASH-3
	entry := 40 + 4*f.slots + 20*f.indexCount // IDX-ENT-1
	previous, err := f.readI32(slot)
	if err != nil {
		return err
	}
	if previous <= 0 || previous > f.indexCount { // IDX-PUT-5
		previous = 0
	}
	seconds := (storeTimestamp - f.beginTimestamp) / 1000 // IDX-PUT-2
	if f.beginTimestamp <= 0 {                            // IDX-PUT-3
		seconds = 0
	}
	if seconds > math.MaxInt32 { // IDX-PUT-4
		seconds = math.MaxInt32
	}
	if seconds < 0 {
		seconds = 0
	}
	steps := []func() error{ // IDX-PUT-11
		func() error { return f.writeI32(entry, hash) },
		func() error { return f.writeI64(entry+4, phyOffset) },
		func() error { return f.writeI32(entry+12, int32(seconds)) },
		func() error { return f.writeI32(entry+16, previous) },
		func() error { return f.writeI32(slot, f.indexCount) },
	}
	if f.indexCount <= 1 { // IDX-HDR-2
		steps = append(steps,
			func() error { return f.setI64(16, &f.beginPhyOffset, phyOffset) },
			func() error { return f.setI64(0, &f.beginTimestamp, storeTimestamp) })
	}
	if previous == 0 { // IDX-HDR-4
		steps = append(steps, func() error { return f.setI32(32, &f.hashSlotCount, f.hashSlotCount+1) })
	}
	steps = append(steps,
		func() error { return f.setI32(36, &f.indexCount, f.indexCount+1) }, // IDX-HDR-5
		func() error { return f.setI64(24, &f.endPhyOffset, phyOffset) },    // IDX-HDR-3
		func() error { return f.setI64(8, &f.endTimestamp, storeTimestamp) })
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (f *indexFile) selectOffsets(key []uint16, maximum int32, begin, end int64, found []int64) ([]int64, error) {
	if f.slots == 0 { // IDX-SEL-10
		return nil, errors.New("zero slots")
	}
	hash := keyHash(key)
	number, err := f.readI32(40 + 4*(hash%f.slots))
	if err != nil || number <= 0 || number > f.indexCount || f.indexCount <= 1 { // IDX-SEL-8, IDX-SEL-1
		return found, nil
	}
	for int64(len(found)) < int64(maximum) { // IDX-SEL-3
		entry := 40 + 4*f.slots + 20*number
		entryHash, err := f.readI32(entry)
		if err != nil {
			return found, nil // IDX-SEL-8
		}
		phyOffset, err := f.readI64(entry + 4)
		if err != nil {
			return found, nil
		}
		seconds, err := f.readI32(entry + 12)
		if err != nil {
			return found, nil
		}
		previous, err := f.readI32(entry + 16)
		if err != nil {
			return found, nil
		}
		if seconds < 0 { // IDX-SEL-5
			return found, nil
		}
		time := f.beginTimestamp + 1000*int64(seconds) // IDX-SEL-4
		if entryHash == hash && begin <= time && time <= end {
			found = append(found, phyOffset) // IDX-SEL-2
		}
		if previous <= 0 || previous > f.indexCount || previous == number || time < begin { // IDX-SEL-6, IDX-SEL-7
			return found, nil
		}
		number = previous
	}
	return found, nil
}

func (f *indexFile) timeMatched(begin, end int64) bool {
	return begin < f.beginTimestamp && end > f.endTimestamp || // IDX-TIME-1
		begin >= f.beginTimestamp && begin <= f.endTimestamp || // IDX-TIME-2
		end >= f.beginTimestamp && end <= f.endTimestamp // IDX-TIME-3
}

// The adapter.

type i64 int64

func (v *i64) UnmarshalJSON(data []byte) error {
	text, err := strconv.Unquote(string(data))
	if err != nil {
		return err
	}
	number, err := strconv.ParseInt(text, 10, 64)
	*v = i64(number)
	return err
}

func (v i64) MarshalJSON() ([]byte, error) {
	return []byte(`"` + strconv.FormatInt(int64(v), 10) + `"`), nil
}

type operation struct {
	Op             string  `json:"op"`
	File           string  `json:"file"`
	HashSlotNum    int32   `json:"hash_slot_num"`
	IndexNum       int32   `json:"index_num"`
	EndPhyOffset   i64     `json:"end_phy_offset"`
	EndTimestamp   i64     `json:"end_timestamp"`
	Load           bool    `json:"load"`
	Key            string  `json:"key"`
	KeyUTF16       *string `json:"key_utf16"`
	PhyOffset      i64     `json:"phy_offset"`
	StoreTimestamp i64     `json:"store_timestamp"`
	MaxNum         int32   `json:"max_num"`
	Begin          i64     `json:"begin"`
	End            i64     `json:"end"`
	Initial        []i64   `json:"initial"`
}

func (o *operation) key() ([]uint16, error) {
	if o.KeyUTF16 == nil {
		return utf16.Encode([]rune(o.Key)), nil
	}
	data, err := hex.DecodeString(*o.KeyUTF16)
	if err != nil {
		return nil, err
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(data[2*i:])
	}
	return units, nil
}

type object map[string]any

func run(dir string, ops []operation) []object {
	var f *indexFile
	drop := func() {
		if f != nil {
			f.file.Close()
			f = nil
		}
	}
	defer drop()
	results := make([]object, 0, len(ops))
	for i := range ops {
		o := &ops[i]
		if o.Op == "index.open" {
			drop()
			opened, err := open(filepath.Join(dir, filepath.FromSlash(o.File)), o.HashSlotNum, o.IndexNum,
				int64(o.EndPhyOffset), int64(o.EndTimestamp), o.Load)
			if err != nil {
				results = append(results, object{"rejected": err.Error()})
				continue
			}
			f = opened
			results = append(results, object{})
			continue
		}
		key, err := o.key()
		if err != nil {
			results = append(results, object{"errored": err.Error()})
			continue
		}
		if o.Op == "key.hash" {
			results = append(results, object{"hash": keyHash(key)})
			continue
		}
		if f == nil {
			results = append(results, object{"rejected": "no index file is open"})
			continue
		}
		if o.Op == "index.close" {
			drop()
			results = append(results, object{})
			continue
		}
		result, err := act(f, o, key)
		if err != nil {
			result = object{"rejected": err.Error()}
		}
		results = append(results, result)
	}
	return results
}

func act(f *indexFile, o *operation, key []uint16) (object, error) {
	switch o.Op {
	case "index.put":
		put, err := f.put(key, int64(o.PhyOffset), int64(o.StoreTimestamp))
		return object{"put": put}, err
	case "index.select":
		found := make([]int64, len(o.Initial))
		for i, offset := range o.Initial {
			found[i] = int64(offset)
		}
		found, err := f.selectOffsets(key, o.MaxNum, int64(o.Begin), int64(o.End), found)
		offsets := make([]i64, len(found))
		for i, offset := range found {
			offsets[i] = i64(offset)
		}
		return object{"offsets": offsets}, err
	case "index.time_matched":
		return object{"matched": f.timeMatched(int64(o.Begin), int64(o.End))}, nil
	case "index.header":
		return object{
			"begin_timestamp": i64(f.beginTimestamp), "end_timestamp": i64(f.endTimestamp),
			"begin_phy_offset": i64(f.beginPhyOffset), "end_phy_offset": i64(f.endPhyOffset),
			"hash_slot_count": f.hashSlotCount, "index_count": f.indexCount,
		}, nil
	case "index.full":
		return object{"full": f.full()}, nil
	case "index.flush":
		return object{}, f.flush()
	}
	return object{"unsupported": true}, nil
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			var message struct {
				Cmd string      `json:"cmd"`
				ID  string      `json:"id"`
				Dir string      `json:"dir"`
				Ops []operation `json:"ops"`
			}
			if err := json.Unmarshal(line, &message); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			switch message.Cmd {
			case "hello":
				_ = out.Encode(object{"protocol": 1, "name": "from-spec", "version": "1", "language": "go", "geometry": "any",
					"features": []string{"lone_surrogates"}, "max_in_flight": 1,
					"ops": []string{"key.hash", "index.open", "index.put", "index.select", "index.time_matched",
						"index.header", "index.full", "index.flush", "index.close"}})
			case "case":
				_ = out.Encode(object{"id": message.ID, "results": run(message.Dir, message.Ops)})
			case "bye":
				return
			}
		}
		if err != nil {
			return
		}
	}
}
