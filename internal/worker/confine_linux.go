package worker

import (
	"github.com/landlock-lsm/go-landlock/landlock"
	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockTCP is the first version of Landlock that denies TCP connections.
const landlockTCP = 4

// confine removes the rights that a handler does not need, as far as the kernel supports it. All
// threads are confined: go-landlock uses syscall.AllThreadsSyscall, and libpsx in builds with cgo.
func confine() Confinement {
	var c Confinement
	c.missing("inherited files", closeInherited())
	c.noNewPrivileges()
	if underRace {
		c.missing("landlock and descriptors", errRace)

		return c
	}
	c.landlock()
	// Landlock confines only files and TCP. Without new descriptors, no other sockets can be
	// opened.
	err := limitDescriptors()
	c.missing("descriptors", err)
	c.Descriptors = err == nil

	return c
}

func (c *Confinement) noNewPrivileges() {
	err := llsyscall.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	c.missing("no_new_privs", err)
	c.NoNewPrivileges = err == nil
}

// landlock denies all files and, if the kernel supports it, the network.
func (c *Confinement) landlock() {
	version, err := llsyscall.LandlockGetABIVersion()
	if err == nil {
		err = landlock.V11.BestEffort().Restrict()
	}
	if err != nil {
		c.missing("landlock", err)

		return
	}
	c.Landlock = version
	c.TCP = version >= landlockTCP
}

// dataLimit returns RLIMIT_DATA, 0 if there is none.
func dataLimit() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &limit); err != nil || limit.Cur == unix.RLIM_INFINITY {
		return 0
	}

	return int64(min(limit.Cur, 1<<62))
}
