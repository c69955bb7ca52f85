// Browsers start no workers from files on disk. There the search of the site runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      window.addEventListener("message", event => {
        if (event.source === inside) this.dispatchEvent(new MessageEvent("message", { data: event.data }))
      })
      inside.postMessageToFrame = inside.postMessage.bind(inside)
      inside.eval("postMessage = data => parent.postMessage(data, '*')")
      inside.importScripts = (...urls) => Promise.all(urls.map(one => this.load(one)))
      this.ready = this.load(url)
    }
    load(url) {
      const script = this.frame.contentDocument.createElement("script")
      script.src = url
      const loaded = new Promise((resolve, reject) => Object.assign(script, { onload: resolve, onerror: reject }))
      this.frame.contentDocument.body.appendChild(script)
      return loaded
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.postMessageToFrame(data, "*"))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
