package faulttest

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

// Disturbance describes a bad network. The zero value is a good one.
//
// The library for this would be github.com/Shopify/toxiproxy. But its server adds Prometheus,
// zerolog, gorilla/mux and ten more modules. Its resets apply to connections, of which a client
// with HTTP/2 has one, and not to the data that is sent.
type Disturbance struct {
	// Latency is added to what a client sends.
	Latency time.Duration
	// BytesPerSecond limits each direction of a connection; 0 is no limit.
	BytesPerSecond int
	// Resets is the share of pieces of data, which are requests or parts of them, that are not
	// delivered but reset the connection.
	Resets float64
	// Down resets all connections and every new one.
	Down bool
}

// network is the state that all connections of a proxy share.
type network struct {
	mu          sync.Mutex
	disturbance Disturbance
	open        map[*connection]bool
}

func (n *network) set(d Disturbance) {
	n.mu.Lock()
	n.disturbance = d
	n.mu.Unlock()
	if d.Down {
		n.close()
	}
}

func (n *network) now() Disturbance {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.disturbance
}

// close resets all open connections.
func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.open {
		c.reset()
	}
}

func (n *network) disturb(listener net.Listener) net.Listener {
	n.open = map[*connection]bool{}
	return disturbed{Listener: listener, network: n}
}

// disturbed is a listener on a bad network.
type disturbed struct {
	net.Listener
	network *network
}

func (d disturbed) Accept() (net.Conn, error) {
	for {
		accepted, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: accepted, network: d.network, arriving: make(chan piece, 1024), closed: make(chan struct{})}
		if d.network.now().Down {
			c.reset()
			continue
		}
		d.network.mu.Lock()
		d.network.open[c] = true
		d.network.mu.Unlock()
		go c.receive()
		return c, nil
	}
}

// piece is data that is under way, or the end of it.
type piece struct {
	data []byte
	due  time.Time
	err  error
}

// connection delays, slows down and resets.
type connection struct {
	net.Conn
	network  *network
	arriving chan piece
	rest     piece

	once   sync.Once
	closed chan struct{}
}

// receive reads what the client sends, so that several pieces can be under way at the same time.
func (c *connection) receive() {
	for {
		buffer := make([]byte, 32<<10)
		n, err := c.Conn.Read(buffer)
		state := c.network.now()
		if n > 0 && state.Resets > 0 && rand.Float64() < state.Resets { //nolint:gosec // chance, not a secret
			c.reset()
		}
		select {
		case c.arriving <- piece{data: buffer[:n], due: time.Now().Add(state.Latency), err: err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

func (c *connection) Read(into []byte) (int, error) {
	for len(c.rest.data) == 0 && c.rest.err == nil {
		select {
		case c.rest = <-c.arriving:
		case <-c.closed:
			return 0, net.ErrClosed
		}
		if !c.pause(time.Until(c.rest.due)) {
			return 0, net.ErrClosed
		}
	}
	if len(c.rest.data) == 0 {
		err := c.rest.err
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.rest = piece{} // The next Read may wait again.
		}
		return 0, err
	}
	n := copy(into, c.rest.data)
	c.rest.data = c.rest.data[n:]
	c.slow(n)
	return n, nil
}

func (c *connection) Write(data []byte) (int, error) {
	c.slow(len(data))
	return c.Conn.Write(data)
}

// slow waits as long as n bytes take.
func (c *connection) slow(n int) {
	if limit := c.network.now().BytesPerSecond; limit > 0 {
		c.pause(time.Duration(n) * time.Second / time.Duration(limit))
	}
}

// pause waits. It returns false if the connection was closed in the meantime.
func (c *connection) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.closed:
		return false
	}
}

// SetReadDeadline is for a server that stops its reader before it hands a connection on. Tests need
// no deadlines in the future.
func (c *connection) SetReadDeadline(t time.Time) error {
	if t.IsZero() || t.After(time.Now()) {
		return nil
	}
	select {
	case c.arriving <- piece{err: os.ErrDeadlineExceeded}:
	default:
	}
	return nil
}

// reset closes the connection so that the client sees it reset.
func (c *connection) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.end()
}

// Close closes the connection.
func (c *connection) Close() error {
	err := c.end()
	c.network.mu.Lock()
	delete(c.network.open, c)
	c.network.mu.Unlock()
	return err
}

func (c *connection) end() (err error) {
	c.once.Do(func() {
		close(c.closed)
		err = c.Conn.Close()
	})
	return err
}
