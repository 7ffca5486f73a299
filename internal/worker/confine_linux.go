package worker

import (
	"github.com/landlock-lsm/go-landlock/landlock"
	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockTCP is the first version of Landlock that denies TCP connections.
const landlockTCP = 4

// confine takes from the process what a handler does not need. What the kernel does not
// support is left out. All threads are confined: go-landlock uses syscall.AllThreadsSyscall,
// and libpsx in builds with cgo.
func confine() Confinement {
	var c Confinement
	c.missing("inherited files", closeInherited())
	c.noNewPrivileges()
	if underRace {
		c.missing("landlock and descriptors", errRace)

		return c
	}
	c.landlock()
	// Landlock knows files and TCP only; without descriptors there are no other sockets either.
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

// landlock denies all files and, where the kernel can, the network.
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

// dataLimit is RLIMIT_DATA, 0 if there is none.
func dataLimit() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &limit); err != nil || limit.Cur == unix.RLIM_INFINITY {
		return 0
	}

	return int64(min(limit.Cur, 1<<62))
}
