"""A real Chromium without a window, driven over the WebDriver protocol by Debian's chromedriver."""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import urllib.request


def available():
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


class Browser:
    def __init__(self, width=1280, height=900, dark=False):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.driver.stdout:
            if port := re.search(r"started successfully on port (\d+)", line):
                self.address = f"http://127.0.0.1:{port[1]}"
                break
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},{height}"]
        if dark:
            arguments.append("--force-dark-mode")
        options = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                   "goog:chromeOptions": {"args": arguments}}
        self.session = f"/session/{self.call('/session', {'capabilities': {'alwaysMatch': options}})['sessionId']}"
        # A window is not made narrower than about 500 pixels; the view inside it is.
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        if dark:
            self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call(self.session, method="DELETE")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def call(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def cdp(self, command, **parameters):
        return self.call(f"{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path):
        self.call(f"{self.session}/url", {"url": path.resolve().as_uri()})

    def run(self, script, *arguments):
        return self.call(f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def move_mouse(self, x, y):
        action = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                  "actions": [{"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}]}
        self.call(f"{self.session}/actions", {"actions": [action]})

    def drag_mouse(self, x0, x1, y):
        at = lambda x: {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        action = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                  "actions": [at(x0), {"type": "pointerDown", "button": 0}, at(x1), {"type": "pointerUp", "button": 0}]}
        self.call(f"{self.session}/actions", {"actions": [action]})

    def console(self):
        """Errors and warnings of the page."""
        return [entry["message"] for entry in self.call(f"{self.session}/se/log", {"type": "browser"})]

    def requests(self):
        """Addresses that the page asked for."""
        messages = [json.loads(entry["message"])["message"] for entry in self.call(f"{self.session}/se/log", {"type": "performance"})]
        return [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]

    def screenshot(self, name):
        """The whole page as a picture for people, in test-pictures/ of the build folder."""
        folder = pathlib.Path(os.environ.get("RUNNER_BINARY_DIR", "build/release")) / "test-pictures"
        folder.mkdir(exist_ok=True)
        made = self.cdp("Page.captureScreenshot", captureBeyondViewport=True)
        (folder / name).write_bytes(base64.b64decode(made["data"]))
