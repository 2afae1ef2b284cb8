// A starter adapter for adapter protocol 1: standard library only, one object a line on stdin and stdout.
//
// Copy the folder, and put calls to your own code where this file calls index_file.go, the example. Everything
// marked YOURS is what you change; the rest is the protocol. 64-bit integers travel as decimal strings, 32-bit ones
// as numbers. Stdout belongs to the protocol: write your log to stderr.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf16"
)

const name, version = "my-index", "0.1.0" // YOURS

// message is anything that the suite sends.
type message struct {
	Cmd string            `json:"cmd"`
	ID  string            `json:"id"`
	Dir string            `json:"dir"`
	Ops []json.RawMessage `json:"ops"`
}

// operation holds the fields of every operation; each uses its own.
type operation struct {
	Op             string   `json:"op"`
	Key            string   `json:"key"`
	KeyUTF16       *string  `json:"key_utf16"`
	Tags           string   `json:"tags"` // null is empty
	TagsUTF16      *string  `json:"tags_utf16"`
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

type result = map[string]any

type file struct {
	Role string `json:"role"`
	Path string `json:"path"`
}

// oneCase is a directory, and the index file that is open in it.
type oneCase struct {
	dir   string
	index *IndexFile // YOURS
	files []file
}

type handler = func(*oneCase, operation) (result, error)

// What is here is declared. What else the store has goes the same way: queue.open, queue.put, service.open,
// log.dispatch and so on, a handler each; PROTOCOL.md has their fields and results.
var handlers = map[string]handler{
	"key.hash":           keyHash,
	"tags.code":          tagsCode,
	"index.open":         indexOpen,
	"index.put":          opened(indexPut),
	"index.select":       opened(indexSelect),
	"index.time_matched": opened(indexTimeMatched),
	"index.header":       opened(indexHeader),
	"index.full":         opened(indexFull),
	"index.flush":        opened(indexFlush),
	"index.close":        opened(indexClose),
}

func keyHash(_ *oneCase, op operation) (result, error) {
	units, err := keyOf(op)
	return result{"hash": KeyHash(units)}, err // YOURS
}

func tagsCode(_ *oneCase, op operation) (result, error) {
	units, err := unitsOf(op.Tags, op.TagsUTF16)
	return result{"tags_code": i64(int64(StringHash(units)))}, err // YOURS
}

func indexOpen(c *oneCase, op operation) (result, error) {
	c.release()
	c.files = append(c.files, file{"index", op.File})
	path := filepath.Join(c.dir, op.File)
	index, err := Open(path, op.HashSlotNum, op.IndexNum, op.EndPhyOffset, op.EndTimestamp, op.Load) // YOURS
	c.index = index
	return result{}, err
}

func indexPut(c *oneCase, op operation) (result, error) {
	units, err := keyOf(op)
	if err != nil {
		return nil, err
	}
	put, err := c.index.Put(units, op.PhyOffset, op.StoreTimestamp) // YOURS
	return result{"put": put}, err
}

func indexSelect(c *oneCase, op operation) (result, error) {
	units, err := keyOf(op)
	if err != nil {
		return nil, err
	}
	initial := []int64{}
	for _, text := range op.Initial {
		offset, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, malformed{err}
		}
		initial = append(initial, offset)
	}
	offsets, err := c.index.Select(initial, units, op.MaxNum, op.Begin, op.End) // YOURS
	texts := []string{}
	for _, offset := range offsets {
		texts = append(texts, i64(offset))
	}
	return result{"offsets": texts}, err
}

func indexTimeMatched(c *oneCase, op operation) (result, error) {
	return result{"matched": c.index.TimeMatched(op.Begin, op.End)}, nil // YOURS
}

func indexHeader(c *oneCase, _ operation) (result, error) {
	header := c.index.Header // YOURS: the header in memory
	return result{
		"begin_timestamp":  i64(header.BeginTimestamp),
		"end_timestamp":    i64(header.EndTimestamp),
		"begin_phy_offset": i64(header.BeginPhyOffset),
		"end_phy_offset":   i64(header.EndPhyOffset),
		"hash_slot_count":  header.HashSlotCount,
		"index_count":      header.IndexCount,
	}, nil
}

func indexFull(c *oneCase, _ operation) (result, error) {
	return result{"full": c.index.Full()}, nil // YOURS
}

func indexFlush(c *oneCase, _ operation) (result, error) {
	return result{}, c.index.Flush() // YOURS
}

func indexClose(c *oneCase, _ operation) (result, error) {
	c.release()
	return result{}, nil
}

// release closes the file, without flushing: the suite reads it, and removes it.
func (c *oneCase) release() {
	if c.index != nil {
		c.index.Close() // YOURS
	}
	c.index = nil
}

// opened rejects an operation on nothing that is open.
func opened(run handler) handler {
	return func(c *oneCase, op operation) (result, error) {
		if c.index == nil {
			return nil, errors.New("no index file is open")
		}
		return run(c, op)
	}
}

// malformed is an error in what the suite sent, or in the adapter: never a verdict.
type malformed struct{ error }

func keyOf(op operation) ([]uint16, error) { return unitsOf(op.Key, op.KeyUTF16) }

// unitsOf returns the UTF-16 code units of a key or tags: text, or hex when it holds a lone surrogate.
func unitsOf(text string, units16 *string) ([]uint16, error) {
	if units16 == nil {
		return utf16.Encode([]rune(text)), nil
	}
	bytes, err := hex.DecodeString(*units16)
	if err != nil || len(bytes)%2 != 0 {
		return nil, malformed{fmt.Errorf("UTF-16 in hex: %q", *units16)}
	}
	units := make([]uint16, len(bytes)/2)
	for i := range units {
		units[i] = uint16(bytes[2*i])<<8 | uint16(bytes[2*i+1])
	}
	return units, nil
}

func i64(value int64) string { return strconv.FormatInt(value, 10) }

// runOp returns one result; later operations run even when one is rejected.
func runOp(c *oneCase, raw json.RawMessage) result {
	var op operation
	if err := json.Unmarshal(raw, &op); err != nil {
		return result{"errored": err.Error()}
	}
	run, known := handlers[op.Op]
	if !known {
		return result{"unsupported": true}
	}
	done, err := run(c, op)
	var bad malformed
	switch {
	case errors.As(err, &bad):
		return result{"errored": err.Error()}
	case err != nil: // YOURS: an error that your code reports is a verdict
		return result{"rejected": err.Error()}
	}
	return done
}

func runCase(m message) any {
	c := &oneCase{dir: m.Dir, files: []file{}}
	defer c.release()
	results := []result{}
	for _, raw := range m.Ops {
		results = append(results, runOp(c, raw))
	}
	return map[string]any{"id": m.ID, "results": results, "files": c.files}
}

func hello() any {
	ops := []string{}
	for op := range handlers {
		ops = append(ops, op)
	}
	return map[string]any{
		"protocol": 1, "name": name, "version": version, "language": "go", "ops": ops,
		"geometry": "any", "features": []string{"lone_surrogates"}, "max_in_flight": 1,
	}
}

func answer(in *bufio.Reader, out *json.Encoder) error {
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		switch m.Cmd {
		case "hello":
			err = out.Encode(hello())
		case "case":
			err = out.Encode(runCase(m))
		case "bye":
			return nil
		default:
			err = fmt.Errorf("unknown command %q", m.Cmd)
		}
		if err != nil {
			return err
		}
	}
}

func main() {
	if err := answer(bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
