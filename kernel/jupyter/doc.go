// Package jupyter is the Jupyter front of a session: it speaks the Jupyter
// wire protocol 5.5 on five ZeroMQ sockets and knows nothing about Go cells.
//
// Requests flow in on shell and control (and answers of the user on stdin),
// become calls of session.Session, and flow out as replies on the socket that
// was asked and as outputs on iopub, each signed (HMAC-SHA256) and carrying
// the header of the request that it belongs to.
//
// The steps, one file each:
//
//	connection.go  the connection file that Jupyter hands over
//	wire.go        frames <-> Message, signatures
//	server.go      sockets, who reads what, start and end of the process
//	execute.go     the queue of cells, execute_request, aborting after an error
//	outlet.go      session events -> iopub, joining small stream writes
//	requests.go    everything else that shell and control can ask
//	stdin.go       input_request and input_reply
//	history.go     what was run, in this and earlier sessions
//	kernelspec.go  the files that make Jupyter know the kernel
//
// The front is a process of its own. The session's host may die under a cell;
// the session then answers with an error, which goes out like any other reply.
// Cells run one at a time in the order they came; control requests, completion,
// inspection and the like are answered while a cell runs.
package jupyter
