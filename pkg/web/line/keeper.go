package line

import "k8s.io/utils/lru"

// maxKept is the maximum number of answers that are kept.
const maxKept = 4096

// keeper keeps the answers that were asked for last, up to a number of bytes.
type keeper struct {
	answers *lru.Cache
	size    *int // bytes of all answers
	most    int
}

func newKeeper(most int) keeper {
	size := new(int)
	answers := lru.NewWithEvictionFunc(maxKept, func(_ lru.Key, answer any) { *size -= len(answer.([]byte)) })
	return keeper{answers, size, most}
}

func (k keeper) get(key Key) (answer []byte, found bool) {
	value, found := k.answers.Get(key)
	answer, _ = value.([]byte)
	return answer, found
}

// put keeps the answer, and forgets others until it has room. It does not keep an answer that would take more than an eighth of the room.
func (k keeper) put(key Key, answer []byte) {
	if _, known := k.answers.Get(key); known || len(answer) > k.most/8 {
		return
	}
	k.answers.Add(key, answer)
	for *k.size += len(answer); *k.size > k.most; {
		k.answers.RemoveOldest()
	}
}
