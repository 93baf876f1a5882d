package localpg

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies a folder with its files, folders and symbolic links.
// finish settles the owner or mode of each copy that is not a link.
func copyTree(from, to string, finish func(path string, info fs.FileInfo) error) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return copyEntry(path, filepath.Join(to, relative), info, finish)
	})
}

func copyEntry(from, to string, info fs.FileInfo, finish func(string, fs.FileInfo) error) error {
	var err error
	switch {
	case info.IsDir():
		if err = os.Mkdir(to, 0o700); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case info.Mode().IsRegular():
		err = copyFile(from, to)
	default:
		err = fmt.Errorf("%s is neither a file, a folder nor a link", from)
	}
	if err != nil {
		return err
	}
	return finish(to, info)
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		return errors.Join(err, target.Close())
	}
	return target.Close()
}
