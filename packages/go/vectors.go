// Package vectors tests an implementation of RocketMQ's index files with what the real RocketMQ 4.9.3 answered and
// wrote. Each case is a subtest; a failure names the clause and the first byte that differs.
package vectors

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

//go:embed cases.json
var casesJSON []byte

// ErrNotOffered means that the implementation has no such operation, or not with this geometry: the case is skipped.
var ErrNotOffered = errors.New("not offered")

// Header has the six fields of an index file's header; times in ms since the epoch.
type Header struct {
	BeginTimestamp, EndTimestamp, BeginPhyOffset, EndPhyOffset int64
	HashSlotCount, IndexCount                                  int32
}

// IndexFile is the implementation that is tested: a new value for each case, with one file open at a time. Embed
// NotOffered and implement what you have. An error means that the operation ends in an error that you report; some
// cases expect that.
type IndexFile interface {
	// KeyHash returns the key hash (IDX-HASH-1).
	KeyHash(key string) (int32, error)
	// Open makes or opens a file with this many slots and entries. Each seed counts only if it is above 0. The
	// header is read if load is true.
	Open(path string, hashSlotNum, indexNum int32, endPhyOffset, endTimestamp int64, load bool) error
	// Put adds an entry; false if it is refused.
	Put(key string, phyOffset, storeTimestamp int64) (bool, error)
	// Select appends the physical offsets found to offsets in order, until there are maxNum.
	Select(offsets []int64, key string, maxNum int32, begin, end int64) ([]int64, error)
	// TimeMatched reports whether the window, in ms, matches the file.
	TimeMatched(begin, end int64) (bool, error)
	// Header returns the header in memory.
	Header() (Header, error)
	// Full reports whether the file is full.
	Full() (bool, error)
	// Flush writes the header in memory to the file.
	Flush() error
	// Close releases all files without a flush. It is also called after each case, whatever is open.
	Close() error
	// Other runs any other operation, such as queue.put, in a directory. README.md lists them.
	Other(directory string, operation json.RawMessage) (result any, err error)
}

// NotOffered implements IndexFile without any operation.
type NotOffered struct{}

func (NotOffered) KeyHash(string) (int32, error)                       { return 0, ErrNotOffered }
func (NotOffered) Open(string, int32, int32, int64, int64, bool) error { return ErrNotOffered }
func (NotOffered) Put(string, int64, int64) (bool, error)              { return false, ErrNotOffered }
func (NotOffered) Select([]int64, string, int32, int64, int64) ([]int64, error) {
	return nil, ErrNotOffered
}
func (NotOffered) TimeMatched(int64, int64) (bool, error)     { return false, ErrNotOffered }
func (NotOffered) Header() (Header, error)                    { return Header{}, ErrNotOffered }
func (NotOffered) Full() (bool, error)                        { return false, ErrNotOffered }
func (NotOffered) Flush() error                               { return ErrNotOffered }
func (NotOffered) Close() error                               { return nil }
func (NotOffered) Other(string, json.RawMessage) (any, error) { return nil, ErrNotOffered }

type file struct {
	Length int     `json:"length"`
	Runs   [][]any `json:"runs"`
}

type vector struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	Files       map[string]file   `json:"files"`
	Ops         []json.RawMessage `json:"ops"`
	Results     []map[string]any  `json:"results"`
	Left        map[string]file   `json:"left"`
	Releases    map[string]struct {
		Results []map[string]any `json:"results"`
		Left    map[string]file  `json:"left"`
	} `json:"releases"`
}

type clause struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// Run runs each case as a subtest on a new implementation; cases of operations that are not offered are skipped.
// Expected is what 4.9.3 does, or the release in the environment variable ROCKETMQ_RELEASE.
func Run(t *testing.T, create func() IndexFile) {
	var all struct {
		Releases []string          `json:"releases"`
		Clauses  map[string]clause `json:"clauses"`
		Cases    []vector          `json:"cases"`
	}
	if err := decode(casesJSON, &all); err != nil {
		t.Fatal(err)
	}
	release := os.Getenv("ROCKETMQ_RELEASE")
	if release != "" && !slices.Contains(all.Releases, release) {
		t.Fatalf("ROCKETMQ_RELEASE %s: expected one of %v", release, all.Releases)
	}
	ran := 0
	for _, one := range all.Cases {
		if other, differs := one.Releases[release]; differs {
			one.Results, one.Left = other.Results, other.Left
		}
		t.Run(one.ID, func(t *testing.T) {
			var differences []string
			err := guarded(func() (err error) {
				differences, err = one.check(create(), t.TempDir())
				return err
			})
			if errors.Is(err, ErrNotOffered) {
				t.Skip(err)
			}
			ran++
			if err != nil {
				differences = append(differences, err.Error())
			}
			if len(differences) > 0 {
				name, _, _ := strings.Cut(one.ID, "/")
				rule := all.Clauses[name]
				t.Errorf("%s breaks %s (%s): %s\n  %s\n  %s", one.ID, name, rule.Level, rule.Text,
					strings.Join(differences[:min(len(differences), 5)], "\n  "), one.Description)
			}
		})
	}
	if ran == 0 && !t.Failed() {
		t.Error("no case ran: the implementation offers no operation, or -run selects none")
	}
}

// guarded turns a panic of the implementation into an error.
func guarded(action func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return action()
}

// decode keeps numbers as they are written.
func decode(text []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(value)
}

func (v vector) check(implementation IndexFile, directory string) ([]string, error) {
	if err := v.checkNames(); err != nil {
		return nil, err
	}
	for name, content := range v.Files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, content.bytes(), 0o644); err != nil {
			return nil, err
		}
	}
	differences, err := v.answers(&operations{IndexFile: implementation, directory: directory})
	if closed := guarded(implementation.Close); err == nil && closed != nil {
		differences = append(differences, "close: "+closed.Error())
	}
	if err != nil {
		return nil, err
	}
	return v.compareFiles(directory, differences)
}

func (v vector) answers(ops *operations) ([]string, error) {
	var differences []string
	for i, raw := range v.Ops {
		name, err := ops.name(raw)
		if err != nil {
			return nil, err
		}
		place := fmt.Sprintf("operation %d, %s: ", i, name)
		var actual map[string]any
		err = guarded(func() (err error) {
			actual, err = ops.run(name, raw)
			return err
		})
		if errors.Is(err, ErrNotOffered) {
			return nil, err
		}
		if err != nil {
			return append(differences, place+err.Error()), nil
		}
		expected := v.Results[i]
		_, toReject := expected["rejected"]
		_, rejected := actual["rejected"]
		if toReject || rejected {
			if toReject != rejected {
				differences = append(differences, place+fmt.Sprintf("expected %v, actual %v", expected, actual))
			}
			continue
		}
		for field, value := range expected {
			if !reflect.DeepEqual(value, actual[field]) {
				differences = append(differences, place+fmt.Sprintf("%s: expected %v, actual %v", field, value, actual[field]))
			}
		}
	}
	return differences, nil
}

var plainPath = regexp.MustCompile(`^[^/\\:]+(/[^/\\:]+)*$`)

// checkNames refuses a name in a case that somebody else wrote if it leads out of the case's directory.
func (v vector) checkNames() error {
	names := []string{}
	for name := range v.Files {
		names = append(names, name)
	}
	for _, raw := range v.Ops {
		var op struct {
			File *string `json:"file"`
		}
		if err := json.Unmarshal(raw, &op); err != nil {
			return err
		}
		if op.File != nil {
			names = append(names, *op.File)
		}
	}
	for _, name := range names {
		if !plainPath.MatchString(name) || slices.Contains(strings.Split(name, "/"), "..") {
			return fmt.Errorf("file %s is not a relative path without ..", name)
		}
	}
	return nil
}

var byTheClock = regexp.MustCompile(`^index/[0-9]{17}$`)

// compareFiles takes files that the clock has named as index/new-1 and so on.
func (v vector) compareFiles(directory string, differences []string) ([]string, error) {
	left := map[string]bool{}
	made := 0
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, _ := filepath.Rel(directory, path)
		name := filepath.ToSlash(relative)
		if _, laid := v.Files[name]; !laid && byTheClock.MatchString(name) && v.builds() {
			made++
			name = fmt.Sprintf("index/new-%d", made)
		}
		left[name] = true
		expected, known := v.Left[name]
		if !known {
			differences = append(differences, "file "+name+": expected none")
			return nil
		}
		actual, err := os.ReadFile(path)
		if err == nil {
			differences = append(differences, expected.differences("file "+name, actual)...)
		}
		return err
	})
	for name := range v.Left {
		if !left[name] {
			differences = append(differences, "file "+name+": missing")
		}
	}
	return differences, err
}

func (v vector) builds() bool {
	for _, op := range v.Ops {
		if strings.Contains(string(op), "service.build") {
			return true
		}
	}
	return false
}

// bytes returns the content: runs of bytes in hexadecimal, everything else 0.
func (f file) bytes() []byte {
	data := make([]byte, f.Length)
	for _, run := range f.Runs {
		content, err := hex.DecodeString(run[1].(string))
		if err != nil {
			panic(err)
		}
		start, err := run[0].(json.Number).Int64()
		if err != nil {
			panic(err)
		}
		copy(data[start:], content)
	}
	return data
}

func (f file) differences(name string, actual []byte) []string {
	expected := f.bytes()
	for i := 0; i < min(len(expected), len(actual)); i++ {
		if expected[i] != actual[i] {
			return []string{fmt.Sprintf("%s, byte %d: expected %02x, actual %02x", name, i, expected[i], actual[i])}
		}
	}
	if len(expected) != len(actual) {
		return []string{fmt.Sprintf("%s: expected %d bytes, actual %d", name, len(expected), len(actual))}
	}
	return nil
}
