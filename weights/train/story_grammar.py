"""Small stories from a grammar: the text that weights/decoder is trained on.

A story is one paragraph. Who has which thing, where they are and what they want stays consistent to the end, so that a
model has something to remember. Speech is reported, never quoted, so that each word follows a space.
    python3 -m train.story_grammar --count 5 --seed 3
"""
import argparse
import random

GIRLS = ["Lily", "Mia", "Anna", "Lucy", "Sue", "Rose", "Emma", "Nora"]
BOYS = ["Tom", "Ben", "Sam", "Max", "Tim", "Jack", "Leo", "Finn"]
ANIMALS = ["cat", "dog", "fox", "rabbit", "bear", "mouse", "duck", "frog"]
TRAITS = ["happy", "kind", "brave", "clever", "funny", "quiet"]
COLOURS = ["red", "blue", "green", "yellow", "white", "black"]
LOOKS = ["old", "new", "shiny", "soft", "small", "big"]
TOYS = ["ball", "kite", "drum", "boat", "doll", "train", "book", "hat", "bell", "box"]
FOODS = ["apple", "cake", "pear", "cookie", "egg", "plum"]
# A place with the word that leads into it.
PLACES = ["in the park", "in the forest", "on the beach", "in the garden", "by the river", "on the hill", "on the farm",
          "by the lake", "at the market", "in the barn"]
HIDING = ["under a tree", "behind a rock", "in the tall grass", "under a bush", "behind the fence", "in a hole", "next to the gate"]
ROOMS = ["under the bed", "in the kitchen", "behind the door", "on the chair", "under the table", "in the drawer"]
WEATHER = ["sunny", "warm", "cold", "windy", "cloudy", "bright"]
GAMES = ["tag", "hide and seek", "catch"]


class Person:
    """Somebody in a story. `he` is the pronoun; `his` and `him` follow from it."""

    def __init__(self, rng, others=()):
        taken = {other.name for other in others}
        girl = rng.random() < 0.5
        self.name = rng.choice([name for name in (GIRLS if girl else BOYS) if name not in taken])
        if not others and rng.random() < 0.05:
            self.name = invented_name(rng)
        self.he, self.his, self.him = ("she", "her", "her") if girl else ("he", "his", "him")
        self.He = self.he.capitalize()
        self.child = "girl" if girl else "boy"
        self.parent = rng.choice(["mother", "father"])


def invented_name(rng):
    """Two syllables that begin no word of the vocabulary, so that the name is spelled by single characters."""
    return rng.choice("ZVKPGD") + rng.choice("aeiou") + rng.choice("bdklmnrtvz") + rng.choice("aeiou")


def a(phrase):
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


class Story:
    def __init__(self, rng):
        self.rng = rng
        self.sentences = []

    def pick(self, *options):
        return self.rng.choice(options)

    def say(self, *options):
        self.sentences.append(self.rng.choice(options))

    def begin(self):
        """Introduce the hero."""
        x = Person(self.rng)
        trait = self.pick(*TRAITS)
        what = self.pick(x.child, x.child, self.pick(*ANIMALS))
        self.say(f"Once upon a time, there was a {trait} {what} named {x.name}.",
                 f"Once upon a time, there was a little {what} named {x.name}.",
                 f"Once upon a time, a {trait} {what} named {x.name} lived in a small house.",
                 f"One day, a {trait} {what} named {x.name} woke up early.",
                 f"There was a little {what} named {x.name}.")
        return x

    def thing(self):
        noun = self.pick(*TOYS)
        return noun, f"{self.pick(*COLOURS, *LOOKS)} {noun}"

    def meet(self, x, place):
        y = Person(self.rng, [x])
        self.say(f"{x.name} met {y.name} {place}.", f"There, {x.name} saw {y.name}.",
                 f"Then {y.name}, a good friend, came along.")
        return y

    def go(self, x, place):
        self.say(f"It was a {self.pick(*WEATHER)} day, and {x.name} went to play {place}.",
                 f"One {self.pick(*WEATHER)} morning, {x.name} was {place}.",
                 f"{x.He} liked to play {place}.")

    def end(self, x, y, game=True):
        options = [f"{x.name} and {y.name} were very happy.", f"From that day on, {x.name} and {y.name} were best friends.",
                   f"Then {x.name} and {y.name} went home with a smile.", "They laughed and were friends for ever."]
        if game:
            options.append(f"Then they played {self.pick(*GAMES)} until the sun went down.")
        self.say(*options)
        if self.rng.random() < 0.3:
            self.say("The end.", f"{x.name} slept well that night.", "It was a good day.")

    def text(self):
        return " ".join(self.sentences)


def lost_thing(s):
    """The hero loses a thing outside; a friend finds it and gives it back."""
    x = s.begin()
    noun, thing = s.thing()
    place, hidden = s.pick(*PLACES), s.pick(*HIDING)
    s.say(f"{x.name} had {a(thing)} and loved it very much.", f"{x.He} had {a(thing)}.",
          f"The thing {x.he} loved most was {a(thing)}.")
    s.go(x, place)
    s.say(f"{x.He} took the {noun} along.", f"{x.He} played with the {noun} all day.", f"{x.name} carried the {thing} with {x.him}.")
    s.say(f"But then the {noun} was gone!", f"Suddenly, {x.he} could not find the {noun}!", f"Oh no, {x.name} lost the {noun}!")
    s.say(f"{x.He} looked and looked, but it was not there.", f"{x.name} was very sad and began to cry.",
          f"{x.name} looked everywhere, and {x.he} felt sad.")
    y = s.meet(x, place)
    s.say(f"{x.name} told {y.name} about the {noun}.", f"{y.name} asked why {x.name} was so sad.",
          f"{y.name} wanted to help {x.him} find the {noun}.")
    s.say(f"{y.name} looked {hidden} and found the {thing}.", f"Soon {y.name} saw the {thing} {hidden}.",
          f"They looked {hidden}, and there was the {noun}!")
    s.say(f"{y.name} gave the {noun} back to {x.name}.", f"{x.name} took the {noun} and thanked {y.name}.",
          f"{x.name} hugged {y.name} and held the {noun} tight.")
    s.end(x, y)


def sharing(s):
    """The hero wants a friend's thing; the friend shares at once, or says no and is sorry."""
    x = s.begin()
    noun, thing = s.thing()
    place = s.pick(*PLACES)
    s.go(x, place)
    y = s.meet(x, place)
    s.say(f"{y.name} had {a(thing)}.", f"{y.name} played with {a(thing)}.", f"{y.name} held {a(thing)} in {y.his} hands.")
    s.say(f"{x.name} wanted to play with the {noun} too.", f"{x.name} liked the {thing} and wanted it.")
    s.say(f"{x.He} asked {y.name} to share the {noun}.", f"{x.name} asked if {x.he} could play with the {noun}.")
    if s.rng.random() < 0.5:
        s.say(f"{y.name} said yes and gave {x.him} the {noun}.", f"{y.name} smiled and said that they could share.")
        s.say(f"{x.name} thanked {y.name} and played with the {noun}.", f"They played with the {noun} together all day.")
    else:
        s.say(f"{y.name} said no, because the {noun} was new.", f"But {y.name} did not want to share.")
        s.say(f"{x.name} was sad and walked away.", f"{x.name} began to cry.")
        s.say(f"Then {y.name} felt sorry and ran to {x.name}.", f"{y.name} saw that {x.name} was sad, and {y.he} was sorry.")
        s.say(f"{y.name} gave {x.him} the {noun}, and they played together.", f"{y.He} let {x.name} play with the {thing}.")
    s.say("It is good to share.", f"{x.name} was happy again.", f"Sharing the {noun} was fun.")
    s.end(x, y)


def trade(s):
    """Two friends swap their things, so that each has what the other had."""
    x = s.begin()
    noun, thing = s.thing()
    other, other_thing = s.thing()
    while other == noun:
        other, other_thing = s.thing()
    place = s.pick(*PLACES)
    s.say(f"{x.name} had {a(thing)}, but {x.he} wanted {a(other)}.", f"{x.He} had {a(thing)}. What {x.he} wanted was {a(other)}.")
    s.go(x, place)
    y = s.meet(x, place)
    s.say(f"{y.name} had {a(other_thing)}.", f"{y.name} came with {a(other_thing)}.")
    s.say(f"{y.name} looked at the {noun} and liked it.", f"{y.name} said that the {noun} was pretty.", f"{y.name} wanted the {noun}.")
    s.say("So they made a trade.", f"So {x.name} asked {y.name} to trade.", f"{x.name} had a good idea: they could trade!")
    s.say(f"{x.name} gave {y.name} the {noun} and got the {other}.", f"{y.name} took the {noun}, and {x.name} took the {other}.")
    s.say(f"Now {x.name} had the {other}, and {y.name} had the {noun}.",
          f"{x.name} loved the {other_thing}, and {y.name} loved the {thing}.")
    s.end(x, y)


def found_thing(s):
    """The hero finds a thing, looks for its owner and is thanked with something to eat."""
    x = s.begin()
    noun, thing = s.thing()
    place, hidden, food = s.pick(*PLACES), s.pick(*HIDING), s.pick(*FOODS)
    s.go(x, place)
    s.say(f"{x.He} looked {hidden} and found {a(thing)}.", f"{x.He} saw {a(thing)} {hidden}.", f"There was {a(thing)} {hidden}.")
    s.say(f"{x.name} wanted to keep it, but it was not {x.his} {noun}.", f"{x.name} did not know who had lost the {noun}.",
          f"{x.He} picked up the {noun} and looked around.")
    y = Person(s.rng, [x])
    s.say(f"Then {x.name} saw {y.name}, who was very sad.", f"{x.He} heard {y.name} cry.", f"{y.name} came along and looked for something.")
    s.say(f"{y.name} said that {y.he} had lost {y.his} {noun}.", f"{y.name} told {x.name} about {a(thing)} that was gone.")
    s.say(f"{x.name} gave the {noun} to {y.name}.", f"{x.name} smiled and gave {y.him} the {thing}.")
    s.say(f"{y.name} was so happy that {y.he} gave {x.name} {a(food)}.", f"{y.name} thanked {x.him} and gave {x.him} {a(food)}.")
    s.say(f"{x.name} ate the {food}, and it was very good.", f"They shared the {food} and laughed.", f"{x.name} loved the sweet {food}.")
    s.end(x, y)


def hidden_at_home(s):
    """The hero forgets where a thing is, looks in two wrong rooms, and finds it in the third place."""
    x = s.begin()
    noun, thing = s.thing()
    first, second, third = s.rng.sample(ROOMS, 3)
    s.say(f"{x.name} could not find {x.his} {thing}.", f"{x.He} wanted to play with {x.his} {thing}, but it was gone.")
    s.say(f"{x.He} asked {x.his} {x.parent} about the {noun}.", f"{x.name} called {x.his} {x.parent} to help.")
    s.say(f"First, they looked {first}.", f"First, {x.name} looked {first}.")
    s.say(f"There was only {a(s.pick(*FOODS))}.", f"The {noun} was not there.")
    s.say(f"Then {x.he} looked {second}.", f"Next, they looked {second}.")
    s.say(f"It was not there, and {x.name} was sad.", f"But there was no {noun}.", f"{x.name} wanted to give up.")
    s.say(f"At last, {x.he} looked {third}, and there was the {noun}!", f"At last, they found the {thing} {third}.")
    s.say(f"{x.name} jumped up and down.", f"{x.name} hugged {x.his} {x.parent}.", f"{x.name} was so happy to have the {noun} again.")
    s.say(f"{x.He} never lost the box again." if noun == "box" else f"{x.He} put the {noun} in a box so that it would not get lost again.",
          f"{x.name} and {x.his} {x.parent} played with the {noun}.", f"Then {x.he} fell asleep with the {noun}.")
    if s.rng.random() < 0.3:
        s.say("The end.", "It was a good day.")


def stuck_friend(s):
    """A friend needs help; the hero goes for somebody, or helps with a rope."""
    x = s.begin()
    place = s.pick(*PLACES)
    trouble, free = s.pick(("was stuck in a tree", "came down"), ("fell into a hole", "climbed out"),
                           ("fell into the water", "climbed out"))
    s.go(x, place)
    s.say(f"Suddenly, {x.he} heard a cry.", f"Then {x.name} heard a loud sound.", f"{x.He} heard somebody call for help.")
    y = Person(s.rng, [x])
    s.say(f"It was {y.name}, who {trouble}!", f"{x.name} ran there and saw that {y.name} {trouble}.")
    s.say(f"{y.name} was afraid.", f"{y.name} was cold and sad.", f"{y.name} could not move.")
    if s.rng.random() < 0.5:
        s.say(f"{x.name} had a long rope and threw it to {y.name}.", f"{x.name} ran home and came back with a rope.")
        s.say(f"{y.name} held the rope and {free}.", f"{x.name} pulled the rope hard, and {y.name} {free}.")
    else:
        s.say(f"{x.name} ran to {x.his} {x.parent} and asked for help.", f"{x.name} called {x.his} {x.parent}.")
        s.say(f"{x.name} and {x.his} {x.parent} helped, and {y.name} {free}.", f"Together they pulled until {y.name} {free}.")
    s.say(f"{y.name} thanked {x.name} and said that {x.he} was very brave.", f"{y.name} hugged {x.name}.",
          f"{y.name} was safe now and thanked {x.him}.")
    food = s.pick(*FOODS)
    s.say(f"{y.name} gave {x.him} {a(food)}, and they ate it together.", f"They sat down and shared {a(food)}.", f"{x.name} was proud.")
    s.end(x, y)


PLOTS = [lost_thing, sharing, trade, found_thing, hidden_at_home, stuck_friend]


def make_story(rng):
    story = Story(rng)
    rng.choice(PLOTS)(story)
    return story.text()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    for _ in range(options.count):
        print(make_story(rng))
