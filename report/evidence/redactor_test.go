package evidence

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRedactedTexts(t *testing.T) {
	secrets := []secret{
		{"host", "node17.lab.example", anywhere},
		{"host", "node17", anywhere},
		{"host", "vm", asName},
		{"domain", "lab.example", anywhere},
		{"user", "alice", asWord},
		{"path", "../racks/acme.yaml", anywhere},
		{"serial", "1650001", inMarks},
	}
	for _, c := range []struct{ text, want string }{
		{"nothing of interest", "nothing of interest"},
		{"on node17.lab.example:", "on redacted-host-1:"},
		{"NODE17 and xnode17y", "redacted-host-2 and xredacted-host-2y"},
		{"node18.lab.example", "node18.redacted-domain-1"},
		{"the vm has nvml", "the redacted-host-3 has nvml"},
		{"alice, alices", "redacted-user-1, alices"},
		{"read ../racks/acme.yaml", "read redacted-path-1"},
		{"board 1650001, 16500011", "board redacted-serial-1, 16500011"},
		{"write to Bob.B@acme.example.", "write to redacted-mail-1."},
		{"/home/bob/x and /home/bob", "/home/redacted-user-2/x and /home/redacted-user-2"},
		{"/home/alice/x", "/home/redacted-user-1/x"},
		{"10.20.30.40, 10.20.30.40:22 (10.20.30.41).", "redacted-ip-1, redacted-ip-1:22 (redacted-ip-2)."},
		{"fe80::1ff:fe23:4567:890a%eth0", "redacted-ip-1%eth0"},
		{"[2001:db8::5]:443", "[redacted-ip-1]:443"},
		{"de:ad:be:ef:00:01 DE-AD-BE-EF-00-01", "redacted-mac-1 redacted-mac-2"},
		{"80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:11:22:33", "redacted-mac-1"},
		{"127.0.0.1 0.0.0.0 ::1 ::", "127.0.0.1 0.0.0.0 ::1 ::"},
		{"vbios 96.00.A5.00.01, 92.0.45.0.6", "vbios 96.00.A5.00.01, 92.0.45.0.6"},
		{"driver 580.159.04, 1.2.3", "driver 580.159.04, 1.2.3"},
		{"NVRM: Xid (PCI:0000:18:00): 79", "NVRM: Xid (PCI:0000:18:00): 79"},
		{"0000:18:00.0 -> 00000000:2A:00.0", "0000:18:00.0 -> 00000000:2A:00.0"},
		{"GPU-5d3c1b2a-0001-0002-0003-aabbccddeeff", "GPU-5d3c1b2a-0001-0002-0003-aabbccddeeff"},
		{"2026-02-03T04:05:06.000001Z 04:05:06", "2026-02-03T04:05:06.000001Z 04:05:06"},
		{"std::vector<int>, a::b()", "std::vector<int>, a::b()"},
		{"gpu0->gpu1 at 55.1 GB/s", "gpu0->gpu1 at 55.1 GB/s"},
	} {
		r := newRedactor(secrets)
		if got := r.text(c.text); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
		if again := r.text(r.text(c.text)); again != c.want {
			t.Errorf("%q becomes %q the second time", c.text, again)
		}
	}
	if got := newRedactor(secrets).fixed("node17 10.20.30.40 1650001"); got != "node17 10.20.30.40 redacted-serial-1" {
		t.Errorf("a text of a fixed form becomes %q", got)
	}
	if got := newRedactor(nil).text("node17"); got != "node17" {
		t.Errorf("without a name to replace: %q", got)
	}
}

// Whatever stands around a name, it is gone, and stays gone.
func TestNoNameSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,3}[0-9]{1,3}-[g-z]{1,3}(\.[a-z]{2,4}){0,2}`).Draw(t, "name")
		around := rapid.SampledFrom([]string{"", ".", ":", "/home/", "x", "10.0.0.1", "@", "\x00", "ü", "de:ad:be:ef:00:01", "\xff"})
		var text strings.Builder
		for range rapid.IntRange(1, 5).Draw(t, "times") {
			said := name
			if rapid.Bool().Draw(t, "loud") {
				said = strings.ToUpper(name)
			}
			text.WriteString(around.Draw(t, "before") + said + around.Draw(t, "after"))
		}
		var c collector
		c.host(name)
		r := newRedactor(c.secrets)
		got := r.text(text.String())
		if strings.Contains(strings.ToLower(got), name) || r.foundIn(strings.ToLower(got)) != "" {
			t.Fatalf("%q becomes %q, with %s in it", text.String(), got, name)
		}
	})
}

func TestSecretsOfArguments(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"run -k inventory/model", ""},
		{"run --keyword inventory/model", ""},
		{"run --keyword=inventory/model -m data/x", ""},
		{"run --node hgx-h200-8 --timeout 30s", ""},
		{"run --out ../alice/x --profile rack12.yaml", "path ../alice/x, path rack12.yaml"},
		{"run --out=/srv/runs/1", "path /srv/runs/1"},
		{"run --out /home/bob/1", "user bob, path /home/bob/1"},
		{"run --out ./ --resume /", ""},
	} {
		var got collector
		got.args(strings.Fields(c.args))
		var said []string
		for _, s := range got.secrets {
			said = append(said, s.kind+" "+s.text)
		}
		if strings.Join(said, ", ") != c.want {
			t.Errorf("%s: %s, want %s", c.args, strings.Join(said, ", "), c.want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("node17 10.20.30.40 fe80::1 de:ad:be:ef:00:01 /home/x a@b.cc")
	f.Add("::::1:::2.3.4.5.6:::")
	f.Fuzz(func(t *testing.T, text string) {
		r := newRedactor([]secret{{"host", "node17", anywhere}, {"user", "alice", asWord}})
		if once := r.text(text); strings.Contains(strings.ToLower(once), "node17") {
			t.Errorf("%q becomes %q", text, once)
		}
	})
}
