package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// addContext adds a cluster, its user and its context to a kubeconfig file, which only its owner can read. The context becomes the current one
// if the file has none.
func addContext(file, name string, config *api.Config) error {
	return editKubeconfig(file, func(all *api.Config) {
		all.Clusters[name], all.AuthInfos[name], all.Contexts[name] = config.Clusters[name], config.AuthInfos[name], config.Contexts[name]
		if all.Contexts[all.CurrentContext] == nil {
			all.CurrentContext = name
		}
	})
}

// removeContext takes out of the file what addContext has added. A file in which nothing is left goes.
func removeContext(file, name string) error {
	return editKubeconfig(file, func(all *api.Config) {
		delete(all.Clusters, name)
		delete(all.AuthInfos, name)
		delete(all.Contexts, name)
		if all.CurrentContext == name {
			all.CurrentContext = ""
		}
	})
}

// editKubeconfig changes a kubeconfig file in one go, so that nobody reads half of it.
func editKubeconfig(file string, edit func(*api.Config)) error {
	all, err := clientcmd.LoadFromFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		all, err = api.NewConfig(), nil
	}
	if err != nil {
		return err
	}
	edit(all)
	if len(all.Clusters)+len(all.AuthInfos)+len(all.Contexts) == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := clientcmd.Write(*all)
	if err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(file), ".faultline-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = draft.Write(data)
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), file)
	}
	if err != nil {
		_ = os.Remove(draft.Name()) // the error says what happened
	}
	return err
}
