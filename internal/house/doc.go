// Package house holds the rules of the source tree as a test: which folder may
// import which, how long a file may be, what a package must and must not be
// called. CONTRIBUTING.md says why. There is nothing to import here.
package house
