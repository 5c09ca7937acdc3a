// Package worker runs the playground's engine in processes of their own, so that every request can be ended, whatever it does: parts of
// Kubernetes' code take no context, and a scenario may take more memory than there is. It is to the server what a Web Worker is to the page
// without one.
//
//	Pool.Answer ─ request ─▶ process: Serve ─▶ playground.Engine
//	            ◀─ response ─
//
// A request that nobody waits for is first canceled. If its process does not answer within a second, the process is ended, and the next
// request starts another.
package worker

// request is what a process reads: a method of the engine with its request, or, without a method, that the request of that number is canceled.
type request struct {
	Number int
	Method string
	Body   []byte
}

// response is what a process writes: the engine's response. If Last is set, the process ends.
type response struct {
	Body []byte
	Last bool
}
