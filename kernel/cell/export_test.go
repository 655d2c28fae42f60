package cell

// Judge is IsComplete without its net.
var Judge = judge
