// Package zmtp is the server side of the two ZeroMQ sockets that a Jupyter
// kernel binds: ROUTER (shell, control, stdin, heartbeat) and XPUB (iopub),
// over TCP and Unix sockets, ZMTP 3 with the NULL mechanism. Bytes of peers
// flow in and become messages from Router.Recv; messages given to Router.Send
// and Publisher.Send flow out, each peer with a queue and a writer of its own.
//
// It exists because the sockets of the ready-made pure Go library lose or
// block what a kernel must not: there one stalled peer stops every other
// (writers run under the socket's lock), one peer that connects and says
// nothing stops all later connections (the handshake runs in the accept loop),
// a malformed handshake or frame length panics the process, subscriptions are
// invisible, so that outputs published before the subscriber is known vanish,
// and Close drops what is still queued. Here:
//
//   - handshakes run beside each other and under a deadline;
//   - lengths are believed only as far as bytes arrive;
//   - Send never blocks and never drops for a connected peer; Throttle is how
//     a producer of much output waits for slow peers, and a peer that takes
//     no byte for StallTimeout is disconnected;
//   - replies to a peer that lost its connection wait for it to come back
//     under the same identity;
//   - what is published before the first subscriber is kept for it;
//   - Close lets the queues drain for a while first.
package zmtp
