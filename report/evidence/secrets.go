package evidence

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/runner/journal"
)

// Redaction is what Pack replaces; nil replaces nothing.
type Redaction struct {
	Serials bool     // serial numbers and UUIDs too
	Hosts   []string // names of this machine, beside those that the journal has
	Users   []string // names of people's accounts
}

// secretsOf collects what is to be replaced from a journal.
func (r *Redaction) secretsOf(events io.Reader) ([]secret, error) {
	var c collector
	err := journal.Recover(events, func(e journal.Event) error {
		switch {
		case e.Run != nil:
			c.host(e.Run.Host)
			c.args(e.Run.Args)
			c.owners(e.Run)
		case e.Outcome != nil && e.Outcome.Waiver != nil:
			c.user(e.Outcome.Waiver.Owner)
		case e.Node != nil:
			c.host(e.Node.Host.Name)
			if r.Serials {
				c.serials(e.Node)
			}
		}
		return nil
	}, func(*journal.BrokenError) {})
	for _, h := range r.Hosts {
		c.host(h)
	}
	for _, u := range r.Users {
		c.user(u)
	}
	return c.secrets, unlessDamaged(err)
}

type collector struct{ secrets []secret }

func (c *collector) add(kind, text string, how int) {
	c.secrets = append(c.secrets, secret{kind, text, how})
}

// host enters a host's name: whole, its domain, and its first part.
func (c *collector) host(name string) {
	name = strings.Trim(name, ".")
	if name == "" || name == "localhost" {
		return
	}
	c.name("host", name)
	if short, domain, ok := strings.Cut(name, "."); ok {
		c.name("host", short)
		if strings.Contains(domain, ".") {
			c.name("domain", domain)
		}
	}
}

// hashForm is a name that a hash could hold by chance.
var hashForm = regexp.MustCompile(`^(?i:[0-9a-f]{1,12}|.{1,3})$`)

// name enters a name that is replaced also as a part of words, unless it is so
// short that it is a part of many.
func (c *collector) name(kind, text string) {
	how := anywhere
	if hashForm.MatchString(text) {
		how = asName
	}
	c.add(kind, text, how)
}

// accounts are names of users that say nothing of anyone.
var accounts = []string{"", "root", "nobody", "daemon", "user", "admin", "ubuntu", "debian", "nvidia", "runner", "jenkins", "gitlab-runner"}

func (c *collector) user(name string) {
	if !slices.Contains(accounts, name) && !strings.ContainsAny(name, "/\x00") {
		c.add("user", name, asWord)
	}
}

// fileForm is an argument that names a file without a folder.
var fileForm = regexp.MustCompile(`(?i)\.(?:ya?ml|jsonl?|xml|html|txt|log)$`)

// expressions are the flags whose values may hold a slash and are no paths.
var expressions = []string{"-k", "--keyword", "-m", "--labels"}

// args enters the paths among a run's arguments, and whose home they are in.
func (c *collector) args(args []string) {
	for i, a := range args {
		flag, value, joined := strings.Cut(a, "=")
		if !strings.HasPrefix(a, "-") || !joined {
			flag, value = "", a
			if i > 0 {
				flag = args[i-1]
			}
		}
		if slices.Contains(expressions, flag) || strings.HasPrefix(value, "-") {
			continue
		}
		if m := homeForm.FindStringSubmatch(value); m != nil {
			c.user(m[2])
		}
		if strings.Contains(value, "/") && len(strings.Trim(value, "./")) > 1 || fileForm.MatchString(value) {
			c.add("path", value, anywhere)
		}
	}
}

// owners enters who answers for the waivers of a profile. One that cannot be
// read excuses nothing, and is passed on as the text that it is.
func (c *collector) owners(run *journal.Run) {
	p, err := profile.Parse(run.Profile, []byte(run.ProfileText))
	if run.ProfileText == "" || err != nil {
		return
	}
	for _, w := range p.Waivers() {
		c.user(w.Owner)
	}
}

// minMark is how long what identifies something is at least, in bytes.
const minMark = 4

func (c *collector) serials(n *topology.Node) {
	mark := func(kind, text string) {
		if len(text) >= minMark {
			c.add(kind, text, inMarks)
		}
	}
	mark("serial", n.Host.Serial)
	for i := range n.GPUs {
		mark("serial", n.GPUs[i].Serial)
		mark("uuid", n.GPUs[i].UUID)
	}
}
