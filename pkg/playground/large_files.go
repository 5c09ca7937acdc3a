package playground

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"sync"
)

// KeepRequest gives the engine a large file, so that later requests can name it instead of sending its text.
type KeepRequest struct {
	Text string `json:"text"`
}

// KeepResponse names the file.
type KeepResponse struct {
	// ID is the id for Input.Kept. The engine may forget the file; then an error of the kind missing asks for it again.
	ID string `json:"id"`
}

// minKeptSize is the smallest size of a file that is kept, and maxKeptSize the total size of the files that an engine keeps.
const (
	minKeptSize = 64 << 10
	maxKeptSize = 256 << 20
)

// fileKeeper holds large files by their hash. It forgets the oldest files first.
type fileKeeper struct {
	mu    sync.Mutex
	texts map[string]string
	order []string
	size  int
}

func (k *fileKeeper) keep(text string) string {
	sum := sha256.Sum256([]byte(text))
	id := hex.EncodeToString(sum[:])
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.texts[id]; known {
		return id
	}
	for len(k.order) > 0 && k.size+len(text) > maxKeptSize {
		k.size -= len(k.texts[k.order[0]])
		delete(k.texts, k.order[0])
		k.order = k.order[1:]
	}
	if k.texts == nil {
		k.texts = map[string]string{}
	}
	k.texts[id] = text
	k.order = append(k.order, id)
	k.size += len(text)
	return id
}

// restoreTexts returns the input with the texts of the kept files.
func (k *fileKeeper) restoreTexts(in Input) (Input, error) {
	if len(in.Kept) == 0 {
		return in, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	files := maps.Clone(in.Files)
	if files == nil {
		files = map[string]string{}
	}
	for path, id := range in.Kept {
		text, known := k.texts[id]
		if !known {
			return Input{}, newError(KindMissing, "the engine does not have the file %s any more; send it again", path)
		}
		files[path] = text
	}
	return Input{Main: in.Main, Files: files}, nil
}

// replaceTexts returns the input with ids in place of large files, as the page sends it.
func (k *fileKeeper) replaceTexts(in Input) Input {
	slim := Input{Main: in.Main, Files: map[string]string{}}
	for path, text := range in.Files {
		if len(text) < minKeptSize {
			slim.Files[path] = text
			continue
		}
		if slim.Kept == nil {
			slim.Kept = map[string]string{}
		}
		slim.Kept[path] = k.keep(text)
	}
	return slim
}

// StartRequest returns the request to run the engine's start, or nil if there is none. To answer it before a page asks makes the page's
// first answer come sooner.
func (e *Engine) StartRequest() []byte {
	start := e.currentStart()
	if start.Main == "" {
		return nil
	}
	request, _ := json.Marshal(RunRequest{Input: e.largeFiles.replaceTexts(start)}) // strings always have a JSON encoding
	return request
}

// KeptText returns the text of a large file by its id, if the engine has it.
func (e *Engine) KeptText(id string) (text string, known bool) {
	e.largeFiles.mu.Lock()
	defer e.largeFiles.mu.Unlock()
	text, known = e.largeFiles.texts[id]
	return text, known
}

func (e *Engine) keep(_ context.Context, request KeepRequest) (*KeepResponse, error) {
	return &KeepResponse{ID: e.largeFiles.keep(request.Text)}, nil
}
