// Package rules is an adviser without a language model: it maps what a profile
// says to changes of the source that are known to keep its meaning. It is the
// default, needs no key, and is the floor that a model must beat.
package rules
