/*
 * The exchange of two homes, as far as durability goes: outbox, acks, dedup and resume
 * (PROTOCOL.md section 8), with crashes of either store, lost connections at any moment,
 * and commits that come late: a store may still commit a line of a connection that is gone.
 *
 *     make model
 *
 * It holds when nothing is lost, nothing is delivered twice, and every thread is in order,
 * on both sides, in every run. Two threads share one sequence of ids, as in a home; id k
 * belongs to thread k % 2. What is not here: files, the two processes of a home (a line
 * between them is a line under way, and their socket is lost like a connection), time.
 */

#ifndef LINES
#define LINES 4      /* that each side sends */
#endif
#ifndef CUTS
#define CUTS 2       /* connections that are lost */
#endif
#ifndef CRASHES
#define CRASHES 2    /* stores that are killed */
#endif

/* Defects to be found, to see that the model can fail: an ack that goes out before the
   commit, a receiver that does not know what it has, a sender that takes a written line
   for an arrived one. */
#ifndef DEFECT
#define DEFECT 0
#endif
#define ACK_EARLY (DEFECT == 1)
#define FORGETFUL (DEFECT == 2)
#define HASTY     (DEFECT == 3)

mtype = { RESUME, MSG, ACK };

/* A connection: one queue a direction. A cut empties both. RESUME carries the largest id
   seen of each thread, the others one id. */
chan way[2] = [2] of { mtype, byte, byte };

/* On disk. */
byte sent[2];             /* ids 1 to sent are in the log */
byte outbox[2];           /* bit k: id k is not acknowledged */
byte seen[4];             /* [side * 2 + thread]: largest id received */
byte delivered[2];        /* bit k: id k of the peer is in the log */

/* In memory, of the connection. */
bool up;
bool greeted[2];          /* our resume was sent */
bool resumed[2];          /* the peer's came */
byte cursor[2];           /* last id pushed */
byte owed[2];             /* bit k: the ack of id k is committed and not sent */

/* In memory of the store: a line that was read and is not committed. */
mtype heldType[2];
byte held1[2], held2[2];  /* its numbers; held1 0 and type RESUME is a peer that saw nothing */
bool holding[2];
bool stale[2];            /* it came by a connection that is gone */

inline forget(i) {
	greeted[i] = false; resumed[i] = false; cursor[i] = 0; owed[i] = 0;
}

inline cut() {
	up = false;
	do
	:: nempty(way[0]) -> way[0] ? _, _, _
	:: nempty(way[1]) -> way[1] ? _, _, _
	:: empty(way[0]) && empty(way[1]) -> break
	od;
	forget(0); forget(1);
	stale[0] = true; stale[1] = true
}

/* Pushes the next line of the outbox behind the cursor, if there is one. */
inline push(i) {
	k = cursor[i] + 1;
	do
	:: k <= sent[i] && !(outbox[i] & (1 << k)) -> k++
	:: else -> break
	od;
	if
	:: k <= sent[i] ->
		way[1 - i] ! MSG, k, 0;
		cursor[i] = k;
		if
		:: HASTY -> outbox[i] = outbox[i] & ~(1 << k)
		:: else
		fi
	:: else -> cursor[i] = sent[i]
	fi
}

/* Sends the oldest ack. Acks have a queue of their own: who waits to send one still reads. */
inline ack(i) {
	k = 1;
	do
	:: owed[i] & (1 << k) -> break
	:: else -> k++
	od;
	way[1 - i] ! ACK, k, 0;
	owed[i] = owed[i] & ~(1 << k)
}

/* Commits the line that is held: the one step that a crash cannot divide. */
inline commit(i) {
	if
	:: heldType[i] == MSG ->
		t = i * 2 + held1[i] % 2;
		if
		:: (delivered[i] & (1 << held1[i])) && !FORGETFUL -> skip  /* known: acknowledged again */
		:: else ->
			assert(held1[i] > seen[t]);                  /* order, and never twice */
			assert(seen[t] == 0 -> held1[i] <= 2 : held1[i] == seen[t] + 2);  /* no gap */
			delivered[i] = delivered[i] | (1 << held1[i]);
			seen[t] = held1[i]
		fi;
		if
		:: !stale[i] -> owed[i] = owed[i] | (1 << held1[i])
		:: else                                          /* nobody to tell */
		fi
	:: heldType[i] == ACK -> outbox[i] = outbox[i] & ~(1 << held1[i])
	:: heldType[i] == RESUME && !stale[i] ->
		k = 1;
		do
		:: k <= sent[i] ->
			if
			:: k % 2 == 0 && k <= held1[i] -> outbox[i] = outbox[i] & ~(1 << k)
			:: k % 2 == 1 && k <= held2[i] -> outbox[i] = outbox[i] & ~(1 << k)
			:: else
			fi;
			k++
		:: else -> break
		od;
		resumed[i] = true
	:: heldType[i] == RESUME && stale[i] -> skip         /* its connection is gone */
	fi;
	holding[i] = false; held1[i] = 0; held2[i] = 0
}

inline early(i) {
	if
	:: ACK_EARLY && heldType[i] == MSG -> owed[i] = owed[i] | (1 << held1[i])
	:: else
	fi
}

proctype Home(byte i) {
	byte k, t;
end:	do
	:: atomic { sent[i] < LINES -> sent[i]++; outbox[i] = outbox[i] | (1 << sent[i]) }
	:: atomic { up && !greeted[i] && nfull(way[1 - i]) ->
		way[1 - i] ! RESUME, seen[i * 2], seen[i * 2 + 1]; greeted[i] = true }
	:: atomic { up && greeted[i] && resumed[i] && cursor[i] < sent[i] && nfull(way[1 - i]) -> push(i); k = 0 }
	:: atomic { up && greeted[i] && owed[i] != 0 && nfull(way[1 - i]) -> ack(i); k = 0 }
	:: atomic { up && !holding[i] && nempty(way[i]) ->
		way[i] ? heldType[i], held1[i], held2[i]; holding[i] = true; stale[i] = false; early(i) }
	:: atomic { holding[i] -> commit(i); k = 0; t = 0 }
	od
}

proctype World() {
	byte cuts, crashes;
end:	do
	:: atomic { up && cuts < CUTS -> cut(); cuts++ }
	:: atomic { crashes < CRASHES -> cut(); holding[0] = false; held1[0] = 0; held2[0] = 0; crashes++ }
	:: atomic { crashes < CRASHES -> cut(); holding[1] = false; held1[1] = 0; held2[1] = 0; crashes++ }
	:: atomic { !up -> up = true }
	od
}

/* When nothing moves any more, everything has arrived and everything is acknowledged. */
proctype Judge() {
end:	timeout;
	assert(sent[0] == LINES && sent[1] == LINES);
	assert(outbox[0] == 0 && outbox[1] == 0);
	assert(delivered[0] == delivered[1] && delivered[0] == (1 << (LINES + 1)) - 2)
}

init { atomic { run Home(0); run Home(1); run World(); run Judge() } }
