// Module_zip FOLDER KITS writes leads-go and leads-cli of the folder KITS as a module
// proxy serves them into FOLDER, and prints the version of leads-cli.
package main

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"leads.example/leads-cli/internal/cli"
	"leads.example/leads-go"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: module_zip FOLDER KITS")
	}
	for _, module := range []struct{ path, folder, version string }{
		{"leads.example/leads-go", "go", "v" + leads.Version},
		{"leads.example/leads-cli", "cli", "v" + cli.Version},
	} {
		folder := filepath.Join(os.Args[1], module.path, "@v")
		if err := write(folder, filepath.Join(os.Args[2], module.folder), module.path, module.version); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("v" + cli.Version)
}

func write(folder, kit, module, version string) error {
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
// go command does, and none that was built.
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
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && name != "." || name == "build" {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		target, err := archive.Create(prefix + filepath.ToSlash(name))
		if err != nil {
			return err
		}
		content, err := os.Open(path)
		if err != nil {
			return err
		}
		defer content.Close()
		_, err = io.Copy(target, content)
		return err
	})
}
