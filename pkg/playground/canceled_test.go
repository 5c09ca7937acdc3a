package playground_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/faultline/faultline/pkg/playground"
)

// leavingClient is the context of a client that leaves after the engine has asked a number of times whether it still waits.
type leavingClient struct {
	context.Context
	asked, at atomic.Int64
	gone      chan struct{}
	once      sync.Once
}

func (l *leavingClient) Done() <-chan struct{} { return l.gone }

func (l *leavingClient) Err() error {
	if l.asked.Add(1) < l.at.Load() {
		return nil
	}
	l.once.Do(func() { close(l.gone) })
	return context.Canceled
}

// Whenever the client leaves, every kind of request ends, and the next one has its turn. Each request asks repeatedly, in each of its
// loops, whether the client still waits, and asks only a few more times after it has left.
func TestRequestsEndWithTheirClients(t *testing.T) {
	const most = 40 // how often a request asks after the client has left, on several cores
	crowded := replaceInInput("scenario.yaml", "total: 3", "total: 30")
	crowded.Files["web.yaml"] = strings.Replace(web, "replicas: 4", "replicas: 32", 1)
	crowded.Files["scenario.yaml"] += "  questions: [{ask: how many, number: {pending: true}}]\nexpect: {failures: [{level: zone, stranded: 40}]}\n"
	named := crowded // the pods of a StatefulSet have predictable names
	named.Files = maps.Clone(crowded.Files)
	named.Files["web.yaml"] = strings.Replace(crowded.Files["web.yaml"], "kind: Deployment", "kind: StatefulSet", 1)
	for method, test := range map[string]struct {
		request any
		least   int64 // how often a complete answer asks at least
	}{
		"run":     {playground.RunRequest{Input: crowded}, 40},
		"fail":    {playground.FailRequest{Input: crowded, Step: "web"}, 100},
		"explain": {playground.ExplainRequest{Input: named, Namespace: "default", Pod: "web-0"}, 100},
		"compare": {playground.CompareRequest{Input: crowded, Rules: []string{"none", "soft", "hard"}, Keys: []string{"zone"}}, 100},
		"quiz":    {playground.QuizRequest{Input: crowded}, 500},
	} {
		t.Run(method, func(t *testing.T) {
			request, err := json.Marshal(test.request)
			if err != nil {
				t.Fatal(err)
			}
			for at := int64(1); ; at = at*3/2 + 1 {
				engine := playground.New("test")
				client := &leavingClient{Context: context.Background(), gone: make(chan struct{})}
				client.at.Store(at)
				var response struct {
					playground.Failure
					playground.RunResponse
				}
				answer := engine.Answer(client, method, request)
				if err := json.Unmarshal(answer, &response); err != nil {
					t.Fatal(err)
				}
				asked := client.asked.Load()
				if asked < at { // the client had the complete answer
					if response.Error != nil || response.Problems != nil || asked < test.least {
						t.Errorf("%v, %v; asked %d times, want at least %d", response.Error, response.Problems, asked, test.least)
					}
					return
				}
				if response.Error == nil || response.Error.Kind != playground.KindCanceled || asked > at+most {
					t.Fatalf("the client left at %d, and was asked %d times: %.300s", at, asked, answer)
				}
				if ran := ask[playground.RunResponse](t, engine, "run", playground.RunRequest{Input: input}); ran.Report == nil {
					t.Fatalf("the next request: %+v", ran.Problems)
				}
			}
		})
	}
}

// While the engine reads a live cluster again, which may take a minute, other requests get the earlier state, and a request that waits to
// read the cluster may be canceled.
func TestLoadsDoNotWaitForALiveCluster(t *testing.T) {
	engine := playground.New("test")
	engine.Start = input
	reads := make(chan struct{})
	engine.Live.Read = func(ctx context.Context) (playground.Input, error) {
		close(reads)
		<-ctx.Done()
		return playground.Input{}, ctx.Err()
	}
	load := func() (func(), chan []byte) {
		ctx, leave := context.WithCancel(context.Background())
		answer := make(chan []byte)
		go func() { answer <- engine.Answer(ctx, "load", []byte(`{"again": true}`)) }()
		return leave, answer
	}
	leave, first := load()
	<-reads
	if loaded := ask[playground.LoadResponse](t, engine, "load", playground.LoadRequest{}); loaded.Input.Main != input.Main {
		t.Errorf("the start is %q", loaded.Input.Main)
	}
	leaveToo, second := load()
	leaveToo()
	for _, answer := range []chan []byte{second, first} {
		if got := string(<-answer); !strings.Contains(got, `"kind":"canceled"`) {
			t.Errorf("%.300s", got)
		}
		leave()
	}
}
