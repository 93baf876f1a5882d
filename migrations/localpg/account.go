package localpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// An account is the user a server runs as.
type account struct {
	name     string
	uid, gid int
	// foreign says that this process is root and the account is not.
	foreign bool
}

// serverAccount is whom the folder's server runs as: this user, or for root
// the first of the cluster's owner, the folder's owner, postgres and nobody.
func (f folder) serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return accountOf(os.Geteuid())
	}
	for _, path := range []string{f.cluster(), string(f)} {
		if uid := ownerOf(path); uid > 0 {
			return accountOf(uid)
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return newAccount(u)
		}
	}
	return account{}, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody: " +
		"add one, or run as another user")
}

func accountOf(uid int) (account, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return account{}, fmt.Errorf("user id %d has no entry in the user database (/etc/passwd), and PostgreSQL cannot make a cluster for it: "+
			"add an entry, run as a user that has one, or give the URL of a database: %w", uid, err)
	}
	return newAccount(u)
}

func newAccount(u *user.User) (account, error) {
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, fmt.Errorf("read the id of user %s: %w", u.Username, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("read the group of user %s: %w", u.Username, err)
	}
	return account{name: u.Username, uid: uid, gid: gid, foreign: uid != os.Geteuid()}, nil
}

// attributes make a child run as the account.
func (a account) attributes() *syscall.SysProcAttr {
	if !a.foreign {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
}

// take gives path to the account.
func (a account) take(path string) error {
	if !a.foreign {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// private makes dir if it is missing and sees to it that nobody but the
// account can use it. One that somebody else prepared is refused.
func (a account) private(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		return a.take(dir)
	}
	info, statErr := os.Lstat(dir)
	switch {
	case !errors.Is(err, fs.ErrExist) || statErr != nil:
		return errors.Join(err, statErr)
	case !info.IsDir() || ownerOf(dir) != a.uid:
		return fmt.Errorf("%s is in the way: it is not a folder of user %s", dir, a.name)
	}
	return os.Chmod(dir, 0o700)
}

// reaches says why the account cannot get at path, and nil if it can: every
// folder on the way must let it pass, and a file must be executable. Only the
// account of another user is examined; what we cannot reach ourselves, the
// system tells us in passing.
func (a account) reaches(path string) error {
	if !a.foreign {
		return nil
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !a.mayExecute(info) {
			return fmt.Errorf("user %s may not pass %s (%s)", a.name, path, info.Mode())
		}
		if path == filepath.Dir(path) {
			return nil
		}
		path = filepath.Dir(path)
	}
}

func (a account) mayExecute(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return true
	case int(stat.Uid) == a.uid:
		return info.Mode()&0o100 != 0
	case int(stat.Gid) == a.gid:
		return info.Mode()&0o010 != 0
	default:
		return info.Mode()&0o001 != 0
	}
}
