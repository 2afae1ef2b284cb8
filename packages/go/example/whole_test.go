package example

import (
	"testing"
	"unicode/utf16"

	"rocketspec/vectors"
)

// whole is the whole interface over index_file.go, which your code replaces.
type whole struct {
	vectors.NotOffered
	file *IndexFile
}

func units(key string) []uint16 { return utf16.Encode([]rune(key)) }

func (w *whole) KeyHash(key string) (int32, error) { return KeyHash(units(key)), nil }

func (w *whole) Open(path string, slots, entries int32, endPhyOffset, endTimestamp int64, load bool) (err error) {
	w.file, err = Open(path, slots, entries, endPhyOffset, endTimestamp, load)
	return err
}

func (w *whole) Put(key string, phyOffset, storeTimestamp int64) (bool, error) {
	return w.file.Put(units(key), phyOffset, storeTimestamp)
}

func (w *whole) Select(offsets []int64, key string, maxNum int32, begin, end int64) ([]int64, error) {
	return w.file.Select(offsets, units(key), maxNum, begin, end)
}

func (w *whole) TimeMatched(begin, end int64) (bool, error) {
	return w.file.TimeMatched(begin, end), nil
}

func (w *whole) Header() (vectors.Header, error) { return vectors.Header(w.file.Header), nil }

func (w *whole) Full() (bool, error) { return w.file.Full(), nil }

func (w *whole) Flush() error { return w.file.Flush() }

func (w *whole) Close() error {
	if w.file != nil {
		w.file.Close()
	}
	w.file = nil
	return nil
}

func TestWhole(t *testing.T) {
	vectors.Run(t, func() vectors.IndexFile { return &whole{} })
}
