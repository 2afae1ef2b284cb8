// A starter adapter for adapter protocol 1: standard library only, one object a line on stdin and stdout.
//
// Copy the folder, and put calls to your own code where this file calls the package example. Everything
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

	"rocketspec-adapter/example" // YOURS
)

const adapterName, adapterVersion = "my-index", "0.1.0" // YOURS

// suiteMessage is anything that the suite sends.
type suiteMessage struct {
	Cmd string            `json:"cmd"`
	ID  string            `json:"id"`
	Dir string            `json:"dir"`
	Ops []json.RawMessage `json:"ops"`
}

// suiteOp holds the fields of every operation; each uses its own.
type suiteOp struct {
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

type opResult = map[string]any

type listedFile struct {
	Role string `json:"role"`
	Path string `json:"path"`
}

// adapterCase is a directory, and the index file that is open in it.
type adapterCase struct {
	dir   string
	index *example.IndexFile // YOURS
	files []listedFile
}

type opHandler = func(*adapterCase, suiteOp) (opResult, error)

// Every operation of the protocol. Those with a handler are declared; the others, with their fields and results, wait
// for yours.
var opHandlers = map[string]opHandler{
	"key.hash":           runKeyHash,
	"tags.code":          runTagsCode,
	"index.open":         runOpen,
	"index.put":          whenOpen(runPut),
	"index.select":       whenOpen(runSelect),
	"index.time_matched": whenOpen(runTimeMatched),
	"index.header":       whenOpen(runHeader),
	"index.full":         whenOpen(runFull),
	"index.flush":        whenOpen(runFlush),
	"index.close":        whenOpen(runClose),

	"service.open":           nil, // hash_slot_num, index_num, last_exit_ok, index_msg_timestamp: files
	"service.build":          nil, // topic, uniq_key, keys, commit_log_offset, store_timestamp, sys_flag: {}
	"service.query":          nil, // topic, key, max_num, begin, end: offsets, last_update_*
	"service.delete_expired": nil, // offset: files
	"service.settle":         nil, // no fields: index_msg_timestamp
	"queue.open":             nil, // topic, queue_id, file_size, load: {}
	"queue.put":              nil, // offset, size, tags_code, cq_offset: put
	"queue.get":              nil, // cq_offset: unit
	"queue.bounds":           nil, // no fields: min, max, max_physic_offset
	"queue.recover":          nil, // no fields: min, max, max_physic_offset
	"queue.truncate":         nil, // phy_offset: min, max, max_physic_offset
	"queue.correct_min":      nil, // phy_min_offset: min, max, max_physic_offset
	"queue.delete_expired":   nil, // phy_offset: deleted, min, max, max_physic_offset
	"queue.last_offset":      nil, // no fields: last_offset
	"log.dispatch":           nil, // file, check_crc, read_body?: requests
	"checkpoint.read":        nil, // no fields: the three times
	"checkpoint.write":       nil, // the three times: the same
	"index.read":             nil, // file, hash_slot_num, index_num: header, entries
	"queue.read":             nil, // file: units
	"log.read":               nil, // file: records
}

func runKeyHash(_ *adapterCase, op suiteOp) (opResult, error) {
	units, err := keyUnits(op)
	return opResult{"hash": example.KeyHash(units)}, err // YOURS
}

func runTagsCode(_ *adapterCase, op suiteOp) (opResult, error) {
	units, err := utf16Units(op.Tags, op.TagsUTF16)
	return opResult{"tags_code": decimal(int64(example.StringHash(units)))}, err // YOURS
}

func runOpen(c *adapterCase, op suiteOp) (opResult, error) {
	c.release()
	c.files = append(c.files, listedFile{"index", op.File})
	path := filepath.Join(c.dir, op.File)
	index, err := example.Open(path, op.HashSlotNum, op.IndexNum, op.EndPhyOffset, op.EndTimestamp, op.Load) // YOURS
	c.index = index
	return opResult{}, err
}

func runPut(c *adapterCase, op suiteOp) (opResult, error) {
	units, err := keyUnits(op)
	if err != nil {
		return nil, err
	}
	put, err := c.index.Put(units, op.PhyOffset, op.StoreTimestamp) // YOURS
	return opResult{"put": put}, err
}

func runSelect(c *adapterCase, op suiteOp) (opResult, error) {
	units, err := keyUnits(op)
	if err != nil {
		return nil, err
	}
	initial := []int64{}
	for _, text := range op.Initial {
		offset, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, malformedError{err}
		}
		initial = append(initial, offset)
	}
	offsets, err := c.index.Select(initial, units, op.MaxNum, op.Begin, op.End) // YOURS
	texts := []string{}
	for _, offset := range offsets {
		texts = append(texts, decimal(offset))
	}
	return opResult{"offsets": texts}, err
}

func runTimeMatched(c *adapterCase, op suiteOp) (opResult, error) {
	return opResult{"matched": c.index.TimeMatched(op.Begin, op.End)}, nil // YOURS
}

func runHeader(c *adapterCase, _ suiteOp) (opResult, error) {
	header := c.index.Header // YOURS: the header in memory
	return opResult{
		"begin_timestamp":  decimal(header.BeginTimestamp),
		"end_timestamp":    decimal(header.EndTimestamp),
		"begin_phy_offset": decimal(header.BeginPhyOffset),
		"end_phy_offset":   decimal(header.EndPhyOffset),
		"hash_slot_count":  header.HashSlotCount,
		"index_count":      header.IndexCount,
	}, nil
}

func runFull(c *adapterCase, _ suiteOp) (opResult, error) {
	return opResult{"full": c.index.Full()}, nil // YOURS
}

func runFlush(c *adapterCase, _ suiteOp) (opResult, error) {
	return opResult{}, c.index.Flush() // YOURS
}

func runClose(c *adapterCase, _ suiteOp) (opResult, error) {
	c.release()
	return opResult{}, nil
}

// release closes the file, without flushing: the suite reads it, and removes it.
func (c *adapterCase) release() {
	if c.index != nil {
		c.index.Close() // YOURS
	}
	c.index = nil
}

// whenOpen rejects an operation on nothing that is open.
func whenOpen(run opHandler) opHandler {
	return func(c *adapterCase, op suiteOp) (opResult, error) {
		if c.index == nil {
			return nil, errors.New("no index file is open")
		}
		return run(c, op)
	}
}

// malformedError is an error in what the suite sent, or in the adapter: never a verdict.
type malformedError struct{ error }

func keyUnits(op suiteOp) ([]uint16, error) { return utf16Units(op.Key, op.KeyUTF16) }

// utf16Units returns the UTF-16 code units of a key or tags: text, or hex when it holds a lone surrogate.
func utf16Units(text string, units16 *string) ([]uint16, error) {
	if units16 == nil {
		return utf16.Encode([]rune(text)), nil
	}
	bytes, err := hex.DecodeString(*units16)
	if err != nil || len(bytes)%2 != 0 {
		return nil, malformedError{fmt.Errorf("UTF-16 in hex: %q", *units16)}
	}
	units := make([]uint16, len(bytes)/2)
	for i := range units {
		units[i] = uint16(bytes[2*i])<<8 | uint16(bytes[2*i+1])
	}
	return units, nil
}

func decimal(value int64) string { return strconv.FormatInt(value, 10) }

// runOp returns one result; later operations run even when one is rejected or panics.
func runOp(c *adapterCase, raw json.RawMessage) (done opResult) {
	defer func() {
		if why := recover(); why != nil { // YOURS: a panic is what an unchecked exception is in 4.9.3
			done = opResult{"rejected": fmt.Sprint(why)}
		}
	}()
	var op suiteOp
	if err := json.Unmarshal(raw, &op); err != nil {
		return opResult{"errored": err.Error()}
	}
	run := opHandlers[op.Op]
	if run == nil {
		return opResult{"unsupported": true}
	}
	answered, err := run(c, op)
	var bad malformedError
	switch {
	case errors.As(err, &bad):
		return opResult{"errored": err.Error()}
	case err != nil: // YOURS: an error that your code reports is a verdict
		return opResult{"rejected": err.Error()}
	}
	return answered
}

func runCase(m suiteMessage) any {
	c := &adapterCase{dir: m.Dir, files: []listedFile{}}
	defer c.release()
	results := []opResult{}
	for _, raw := range m.Ops {
		results = append(results, runOp(c, raw))
	}
	return map[string]any{"id": m.ID, "results": results, "files": c.files}
}

func helloAnswer() any {
	ops := []string{}
	for op, run := range opHandlers {
		if run != nil {
			ops = append(ops, op)
		}
	}
	return map[string]any{
		"protocol": 1, "name": adapterName, "version": adapterVersion, "language": "go", "ops": ops,
		"geometry": "any", "features": []string{"lone_surrogates"}, "max_in_flight": 1,
	}
}

func answerLines(in *bufio.Reader, out *json.Encoder) error {
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var m suiteMessage
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		switch m.Cmd {
		case "hello":
			err = out.Encode(helloAnswer())
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
	if err := answerLines(bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
