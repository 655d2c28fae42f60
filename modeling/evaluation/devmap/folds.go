package devmap

import (
	"fmt"
	"math/rand/v2"

	"github.com/rooflab/rooflab/datasets/split"
)

// stratified deals single rows to k folds so that each has the same share of
// each class, as scikit-learn's StratifiedKFold with shuffling does: of the rows
// sorted by class every k-th belongs to a fold, which says how many of each
// class it gets; which ones is drawn.
func stratified(class []bool, k int, seed uint64) ([]split.Split, error) {
	of := map[bool][]int{}
	for r, c := range class {
		of[c] = append(of[c], r)
	}
	if k < 2 || len(of[false]) < k || len(of[true]) < k {
		return nil, fmt.Errorf("dealing rows to %d folds: there are %d of one class and %d of the other; want 2 folds at least and a row of each class in each", k, len(of[true]), len(of[false]))
	}
	rng := rand.New(rand.NewPCG(seed, 0x666f6c6473))
	fold := make([]int, len(class))
	at := 0 // in the rows sorted by class
	for _, c := range []bool{class[0], !class[0]} {
		rows := of[c]
		into := make([]int, len(rows))
		for i := range into {
			into[i] = (at + i) % k
		}
		at += len(rows)
		rng.Shuffle(len(into), func(i, j int) { into[i], into[j] = into[j], into[i] })
		for i, r := range rows {
			fold[r] = into[i]
		}
	}
	out := make([]split.Split, k)
	for i := range out {
		out[i].Seed = seed
		for r, f := range fold {
			if f == i {
				out[i].Test = append(out[i].Test, r)
			} else {
				out[i].Train = append(out[i].Train, r)
			}
		}
	}
	return out, nil
}

// disjoint makes sure that no key stands on both sides of a split.
func disjoint(keys []string, folds []split.Split) error {
	for k, s := range folds {
		train := map[string]bool{}
		for _, r := range s.Train {
			train[keys[r]] = true
		}
		for _, r := range s.Test {
			if train[keys[r]] {
				return fmt.Errorf("fold %d: %.60q is in training and in test", k+1, keys[r])
			}
		}
	}
	return nil
}
