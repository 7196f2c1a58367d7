// Module_zip FOLDER KIT writes the module in the folder KIT as a module proxy serves
// it into FOLDER, and prints its version.
package main

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"leads.example/leads-go"
)

const module = "leads.example/leads-go"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: module_zip FOLDER KIT")
	}
	version := "v" + leads.Version
	if err := write(filepath.Join(os.Args[1], module, "@v"), os.Args[2], version); err != nil {
		log.Fatal(err)
	}
	fmt.Println(version)
}

func write(folder, kit, version string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(kit, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf("{\"Version\":%q}\n", version),
		version + ".mod":  string(manifest),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(folder, version+".zip"))
	if err != nil {
		return err
	}
	archive := zip.NewWriter(file)
	if err := add(archive, kit, module+"@"+version+"/"); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return file.Close()
}

// add puts all files of a module into its zip, but none of a module below it, as the
// go command does.
func add(archive *zip.Writer, kit, prefix string) error {
	return filepath.WalkDir(kit, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(kit, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && name != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.Open(path)
		if err != nil {
			return err
		}
		defer content.Close()
		target, err := archive.Create(prefix + filepath.ToSlash(name))
		if err != nil {
			return err
		}
		_, err = io.Copy(target, content)
		return err
	})
}
