// Package gonb sends what cells display to the stock GoNB kernel, so that
// notebooks written for rooflab show their tables and plots there, too:
//
//	import _ "github.com/rooflab/rooflab/kernel/display/gonb"
//	import _ "github.com/rooflab/rooflab/kernel/display/rich"
//
// Bundles flow in, GoNB's own messages flow out. Under rooflab, and in a
// program that no notebook runs, the import changes nothing.
package gonb

import (
	"encoding/base64"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/rooflab/rooflab/kernel/display"
)

func init() { registerSink() }

// registerSink leaves programs alone that no GoNB runs. Under rooflab the
// session host's own sink is asked first.
func registerSink() {
	if gonbui.IsNotebook {
		display.RegisterFallback(sink{})
	}
}

type sink struct{}

// Display implements display.Sink. GoNB updates an output when its id is used
// again, so update needs no mark of its own.
func (sink) Display(b display.Bundle, id string, _ bool) {
	data := map[protocol.MIMEType]any{}
	for mime, v := range b.Data {
		text, ok := v.(string)
		if !ok { // JSON trees: GoNB's pipe carries text and bytes only
			continue
		}
		if strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "+xml") {
			data[protocol.MIMEType(mime)] = text
		} else if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			data[protocol.MIMEType(mime)] = raw
		}
	}
	gonbui.SendData(&protocol.DisplayData{Data: data, DisplayID: id})
}

// Clear implements display.Sink; GoNB's pipe has no message for it.
func (sink) Clear(bool) {}
