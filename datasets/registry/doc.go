// Package registry knows public data sets of measured performance by name:
// where they are published, under which licence, how to cite them, and the
// SHA-256 of every file, so that a study that names one gets the very bytes
// that others had.
//
// In flows a name, out flows the folder with its files: one below the folder
// that ROOFLAB_DATASETS names, else one in the user's cache, else, when asked
// to fetch, one that is downloaded into the cache and verified. The files are
// then imported as any profile is; package collectors/published reads the
// tables. A folder of one's own below ROOFLAB_DATASETS is found by its name,
// too, though nothing is known of it.
package registry
