package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// operation has the fields of all operations on index files; each uses its own. 64-bit integers are decimal strings.
type operation struct {
	Op             string   `json:"op"`
	Key            *string  `json:"key"` // nil: it holds a lone surrogate, which no string of Go does
	File           string   `json:"file"`
	HashSlotNum    int32    `json:"hash_slot_num"`
	IndexNum       int32    `json:"index_num"`
	EndPhyOffset   int64    `json:"end_phy_offset,string"`
	EndTimestamp   int64    `json:"end_timestamp,string"`
	Load           bool     `json:"load"`
	PhyOffset      int64    `json:"phy_offset,string"`
	StoreTimestamp int64    `json:"store_timestamp,string"`
	MaxNum         int32    `json:"max_num"`
	Begin          int64    `json:"begin,string"`
	End            int64    `json:"end,string"`
	Initial        []string `json:"initial"`
}

type operations struct {
	IndexFile
	directory string
	open      bool
}

// name returns the operation's name.
func (o *operations) name(raw json.RawMessage) (string, error) {
	var named struct {
		Op string `json:"op"`
	}
	err := json.Unmarshal(raw, &named)
	return named.Op, err
}

// run returns the operation's result; an error of the implementation is the result "rejected".
func (o *operations) run(name string, raw json.RawMessage) (map[string]any, error) {
	result, err := o.answer(name, raw)
	switch {
	case errors.Is(err, ErrNotOffered):
		return nil, fmt.Errorf("%s: %w", name, err)
	case err != nil:
		return map[string]any{"rejected": err.Error()}, nil
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	var plain map[string]any // numbers as the expected results have them
	err = decode(text, &plain)
	return plain, err
}

func (o *operations) answer(name string, raw json.RawMessage) (any, error) {
	if name != "key.hash" && !strings.HasPrefix(name, "index.") {
		return o.Other(o.directory, raw)
	}
	var op operation
	if err := json.Unmarshal(raw, &op); err != nil {
		return nil, err
	}
	switch name {
	case "key.hash", "index.put", "index.select":
		if op.Key == nil {
			return nil, fmt.Errorf("key with a lone surrogate: %w", ErrNotOffered)
		}
	}
	switch {
	case name == "key.hash":
		hash, err := o.KeyHash(*op.Key)
		return map[string]any{"hash": hash}, err
	case name == "index.open":
		return map[string]any{}, o.openFile(op)
	case !o.open:
		return nil, errors.New("no index file is open")
	}
	return o.onFile(op)
}

func (o *operations) openFile(op operation) error {
	if o.open {
		o.open = false
		if err := o.Close(); err != nil {
			return err
		}
	}
	path := filepath.Join(o.directory, filepath.FromSlash(op.File))
	err := o.Open(path, op.HashSlotNum, op.IndexNum, op.EndPhyOffset, op.EndTimestamp, op.Load)
	o.open = err == nil
	return err
}

func (o *operations) onFile(op operation) (any, error) {
	switch op.Op {
	case "index.put":
		put, err := o.Put(*op.Key, op.PhyOffset, op.StoreTimestamp)
		return map[string]any{"put": put}, err
	case "index.select":
		return o.selectOffsets(op)
	case "index.time_matched":
		matched, err := o.TimeMatched(op.Begin, op.End)
		return map[string]any{"matched": matched}, err
	case "index.header":
		header, err := o.Header()
		return map[string]any{
			"begin_timestamp":  strconv.FormatInt(header.BeginTimestamp, 10),
			"end_timestamp":    strconv.FormatInt(header.EndTimestamp, 10),
			"begin_phy_offset": strconv.FormatInt(header.BeginPhyOffset, 10),
			"end_phy_offset":   strconv.FormatInt(header.EndPhyOffset, 10),
			"hash_slot_count":  header.HashSlotCount,
			"index_count":      header.IndexCount,
		}, err
	case "index.full":
		full, err := o.Full()
		return map[string]any{"full": full}, err
	case "index.flush":
		return map[string]any{}, o.Flush()
	case "index.close":
		o.open = false
		return map[string]any{}, o.Close()
	}
	return nil, ErrNotOffered
}

func (o *operations) selectOffsets(op operation) (any, error) {
	offsets := []int64{}
	for _, text := range op.Initial {
		offset, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		offsets = append(offsets, offset)
	}
	offsets, err := o.Select(offsets, *op.Key, op.MaxNum, op.Begin, op.End)
	texts := []string{}
	for _, offset := range offsets {
		texts = append(texts, strconv.FormatInt(offset, 10))
	}
	return map[string]any{"offsets": texts}, err
}
