package ipc

// send queues one message. It never waits: a connection that does not drain is ended.
func (c *Conn) send(m message, lines [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue(m, lines)
}

// sendNote is send for a notification. Nobody would learn that one is missing, and those
// after it would mean something else: when it cannot be queued the connection ends.
func (c *Conn) sendNote(m message, lines [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return c.gone()
	}
	err := c.queue(m, lines)
	if err != nil {
		c.fail(err)
	}
	return err
}

// sendHeld is send, but waits until at most limit bytes wait to be written. The wait and
// the queueing are one step, so that many callers at once exceed the limit by one message.
func (c *Conn) sendHeld(m message, limit int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streaming = true
	c.waiting += len(m.Params)
	c.account()
	for len(c.pending) > limit && !c.closing {
		c.wake.Wait()
	}
	c.waiting -= len(m.Params)
	err := c.queue(m, nil)
	c.account()
	return err
}

// queue appends one message to what is pending. c.mu is held.
func (c *Conn) queue(m message, lines [][]byte) error {
	if c.closing {
		return c.gone()
	}
	if !c.greeted {
		m.IPC = Version
	}
	idle := len(c.pending) == 0 && c.writing == 0
	buf, err := appendMessage(c.pending, m, lines)
	if err != nil {
		return err // nothing was queued, so the next line may still be the first
	}
	c.pending, c.greeted = buf, true
	if idle && c.writeNow() {
		return nil
	}
	if len(buf) > maxPending {
		c.fail(ErrSlow)
		return ErrSlow
	}
	c.wake.Broadcast()
	return nil
}

// write is the writing goroutine: whatever gathered while one write ran goes out with
// the next. It ends when the connection does.
func (c *Conn) write() {
	defer close(c.done)
	defer c.nc.Close()
	var buf []byte
	for {
		c.mu.Lock()
		c.writing = 0
		c.account()
		for len(c.pending) == 0 && !c.closing {
			c.wake.Wait()
		}
		if len(c.pending) == 0 {
			c.cancel(c.why)
			c.mu.Unlock()
			return
		}
		buf, c.pending = c.pending, buf[:0]
		c.writing = len(buf)
		c.wake.Broadcast() // for sendHeld
		c.mu.Unlock()
		if _, err := c.nc.Write(buf); err != nil {
			c.cancel(err)
			return
		}
		if cap(buf) > MaxLine {
			buf = nil // one large answer must not stay in memory
		}
	}
}
