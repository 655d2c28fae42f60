package kernelcost

func (c *Cost) summary() string { return c.Kernel }
