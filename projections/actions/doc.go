// Package actions keeps the calls of asynchronous actions: annals.action_log,
// and for each call the delivery that has its handler called.
//
//	created ----> processing ----> completed
//	                  |
//	                  +----------> error
//
// A call is written in the transaction of the mutation that starts it, together
// with its delivery, so there is never one without the other. The worker that
// holds the delivery's lease opens the call and finishes it; a lease that ran
// out writes nothing. A call that is over stays over, whoever opens it again.
//
// Only the session that started a call is answered what came of it, and the
// admin.
package actions
