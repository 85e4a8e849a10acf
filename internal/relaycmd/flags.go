package relaycmd

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/awp-suite/awp"
)

// Config is what awp-relay is started with.
type Config struct {
	Listen string // host:port of TLS
	STUN   string // host:port of UDP
	Host   string // by which homes find the machine: a name or an IPv4 address
	State  string // directory of the certificate
	JSON   bool   // announce for programs
}

// Parse reads the command line. Its errors are of the owner's making, except
// [flag.ErrHelp].
func Parse(args []string, usage io.Writer) (Config, error) {
	var c Config
	f := flag.NewFlagSet("awp-relay", flag.ContinueOnError)
	f.SetOutput(usage)
	f.StringVar(&c.Listen, "listen", ":8443", "`host:port` for TLS connections; an address names the port, so keep it")
	f.StringVar(&c.STUN, "stun", ":3478", "`host:port` for STUN over UDP; keep it, too")
	f.StringVar(&c.Host, "host", "", "`name` or IPv4 address by which homes find this machine (default: that of --listen)")
	f.StringVar(&c.State, "state", defaultState(), "`directory` of the certificate")
	f.BoolVar(&c.JSON, "json", false, "print what homes need as one JSON object on a line")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if f.NArg() > 0 {
		return c, invalid("--listen, --stun, --host, --state and --json are all there is", "%q: awp-relay takes flags only", f.Arg(0))
	}
	return c, c.check()
}

func (c *Config) check() error {
	for _, at := range []struct{ flag, addr string }{{"--listen", c.Listen}, {"--stun", c.STUN}} {
		if c.port(at.addr) == 0 {
			return invalid("spell it :8443 or 203.0.113.7:8443", "%s: got %q, want a host, which may be empty, and a port above 0", at.flag, at.addr)
		}
	}
	if c.Host == "" {
		c.Host, _, _ = net.SplitHostPort(c.Listen)
		if ip, err := netip.ParseAddr(c.Host); c.Host == "" || err == nil && ip.IsUnspecified() {
			return invalid("say it with --host NAME, or listen on one address", "by which name or address do homes find this machine?")
		}
	}
	if ip, err := netip.ParseAddr(c.Host); err == nil && !ip.Is4() {
		return invalid("give the machine a name in DNS", "--host: an IPv6 address cannot be part of a tailcat address by itself")
	}
	if c.State == "" {
		return invalid("choose one with --state DIR", "no directory to keep the certificate in")
	}
	return nil
}

func invalid(hint, format string, args ...any) error {
	return &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// port is the port of host:port, 0 if there is none.
func (Config) port(addr string) int {
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return 0
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return int(port)
}

// defaultState is awp-relay under $XDG_STATE_HOME, else ~/.local/state.
func defaultState() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "awp-relay")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "awp-relay")
}

// settings is the part of a home's config.json that names a relay.
type settings struct {
	Tailcat struct {
		Relay struct {
			Host     string `json:"host"`
			Port     int    `json:"port"`
			STUNPort int    `json:"stun_port"`
			Cert     string `json:"cert"`
		} `json:"relay"`
	} `json:"tailcat"`
}

// announce writes what the homes need: a config.json, ready to paste.
func announce(out io.Writer, c Config, pin string) error {
	var s settings
	r := &s.Tailcat.Relay
	r.Host, r.Port, r.STUNPort, r.Cert = c.Host, c.port(c.Listen), c.port(c.STUN), pin
	if c.JSON {
		text, err := json.Marshal(s)
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
		return err
	}
	text, err := json.Marshal(s, jsontext.WithIndent("  "))
	if err == nil {
		_, err = fmt.Fprintf(out, "awp-relay is up. In config.json of each home that shall be reached through it:\n\n%s\n\nthen: awp down, awp up. Homes that only dial need nothing.\n", text)
	}
	return err
}
