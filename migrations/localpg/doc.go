// Package localpg is a PostgreSQL that this program starts and stops itself.
//
// [Start] takes a data folder and returns a [Server] that answers on a unix
// socket in it; [Server.Stop] gives it back. Any number of processes may use
// one folder at the same time: the first starts the server, the others attach,
// and the last one out stops it. What lies in the folder:
//
//	cluster/      PostgreSQL's own files, owned by the user the server runs as
//	socket/       the unix socket, open to that user (and root) only
//	programs/     a copy of the server programs, only where the original is out of that user's reach
//	postgres.log  what the server has to say
//	start.lock    held exclusively while a server is started or stopped
//	users.lock    held shared by each process for as long as it uses the server
//
// What always holds:
//
//   - No TCP port is opened. Trust is given on the socket alone, and its folder
//     admits one user.
//   - The server outlives a killed program, and the next Start attaches to it.
//     A killed server is started again by the next Start and recovers.
//   - A lock file left behind that names a process which is not this folder's
//     server is removed; a living server is never passed over.
//   - As root the server runs as another user, because PostgreSQL refuses root:
//     the owner of the cluster, else of the folder, else postgres, else nobody.
//   - A cluster appears under its name only when it is complete.
//
// Package localpg brings no programs to the machine, it only finds them (see
// [FindPrograms]), and it creates no databases beside PostgreSQL's own.
package localpg
