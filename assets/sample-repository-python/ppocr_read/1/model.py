"""Reads the text lines of a page: cuts them out and asks the recogniser, with numpy alone.

Boxes are upright rectangles, which suits printed pages and not tilted ones.
"""

import asyncio
import json
import os

import numpy as np
import triton_python_backend_utils as pb_utils
from resize import resize

# What the recogniser was trained on.
LINE_HEIGHT = 48
# The detector's regions are shrunk text: how much they grow again, as a share of area by circumference.
GROWTH = 1.5
# Smaller regions are specks. Pixels of the detector's map.
SMALLEST_SIDE = 3


def regions(mask):
    """Rectangles (left, top, right, bottom) around the connected parts of a mask, right and bottom not included."""
    edges = np.diff(np.pad(mask.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    parent = list(range(len(rows)))

    def root(run):
        while parent[run] != run:
            parent[run] = parent[parent[run]]
            run = parent[run]
        return run

    # Runs of text pixels belong together where they touch one in the row above.
    above = 0
    for run, (row, start, end) in enumerate(zip(rows, starts, ends)):
        while rows[above] < row - 1 or (rows[above] == row - 1 and ends[above] < start):
            above += 1
        touching = above
        while rows[touching] == row - 1 and starts[touching] <= end:
            parent[root(touching)] = root(run)
            touching += 1
    found = {}
    for run, (row, start, end) in enumerate(zip(rows, starts, ends)):
        box = found.setdefault(root(run), [start, row, end, row + 1])
        box[:] = [min(box[0], start), box[1], max(box[2], end), row + 1]
    return sorted(found.values(), key=lambda box: (box[1], box[0]))


def in_reading_order(boxes):
    """Boxes from top to bottom, and from left to right where they stand beside each other."""
    lines = []
    for box in sorted(boxes, key=lambda box: box[1] + box[3]):
        if lines and (box[1] + box[3]) / 2 < lines[-1][0][3]:
            lines[-1].append(box)
        else:
            lines.append([box])
    return [box for line in lines for box in sorted(line)]


class TritonPythonModel:
    def initialize(self, args):
        given = {key: value["string_value"] for key, value in json.loads(args["model_config"]).get("parameters", {}).items()}
        self.recogniser = given.get("RECOGNISER", "ppocr_rec")
        self.pixel_threshold = float(given.get("PIXEL_THRESHOLD", "0.3"))
        self.line_threshold = float(given.get("LINE_THRESHOLD", "0.6"))
        with open(os.path.join(args["model_repository"], "ppocr_keys_v1.txt"), encoding="utf-8") as file:
            # Class 0 is "no character", the last one the space.
            self.characters = [""] + file.read().splitlines() + [" "]

    async def execute(self, requests):
        return await asyncio.gather(*[self.answer(request) for request in requests])

    async def answer(self, request):
        picture = pb_utils.get_input_tensor_by_name(request, "image").as_numpy()[0]
        boxes = self.lines_of(pb_utils.get_input_tensor_by_name(request, "map").as_numpy()[0, 0], picture.shape[:2])
        answers = await asyncio.gather(*[self.recognise(picture, box, request) for box in boxes])
        for answer in answers:
            if answer.has_error():
                return pb_utils.InferenceResponse(error=answer.error())
        read = [self.text_of(answer.output_tensors()[0].as_numpy()[0]) for answer in answers]
        # The leading 1 is the batch.
        return pb_utils.InferenceResponse([
            pb_utils.Tensor("text", np.array([text.encode("utf-8") for text, _score in read], dtype=np.object_).reshape(1, -1)),
            pb_utils.Tensor("box", np.array(boxes, dtype=np.int32).reshape(1, -1, 4)),
            pb_utils.Tensor("score", np.array([score for _text, score in read], dtype=np.float32).reshape(1, -1)),
        ])

    def lines_of(self, text_map, size):
        """Boxes of the text lines in a picture of (height, width)."""
        height, width = size
        scale_y, scale_x = height / text_map.shape[0], width / text_map.shape[1]
        boxes = []
        for left, top, right, bottom in regions(text_map > self.pixel_threshold):
            across, down = right - left, bottom - top
            if min(across, down) < SMALLEST_SIDE or text_map[top:bottom, left:right].mean() < self.line_threshold:
                continue
            more = GROWTH * across * down / (2 * (across + down))
            boxes.append((
                max(0, int((left - more) * scale_x)), max(0, int((top - more) * scale_y)),
                min(width, int(np.ceil((right + more) * scale_x))), min(height, int(np.ceil((bottom + more) * scale_y)))))
        return in_reading_order(boxes)

    def recognise(self, picture, box, request):
        """Asks for one line; to be awaited."""
        left, top, right, bottom = box
        line = resize(picture[top:bottom, left:right], LINE_HEIGHT, max(8, int(round((right - left) * LINE_HEIGHT / (bottom - top)))))
        # Channels first, blue first, from -1 to 1.
        x = (line[:, :, ::-1].transpose(2, 0, 1)[None] / 255 - 0.5) / 0.5
        return pb_utils.InferenceRequest(
            model_name=self.recogniser, requested_output_names=["softmax_11.tmp_0"], inputs=[pb_utils.Tensor("x", x)], request_id=request.request_id(), trace=request.trace(),
        ).async_exec()

    def text_of(self, steps):
        """The text in the recogniser's probabilities [steps, classes], and the mean probability of its characters."""
        best = steps.argmax(axis=1)
        counts = (best != 0) & (best != np.concatenate(([0], best[:-1])))
        probabilities = steps.max(axis=1)[counts]
        return "".join(self.characters[index] for index in best[counts]), float(probabilities.mean()) if len(probabilities) else 0.0
