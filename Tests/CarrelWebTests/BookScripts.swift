/// read-book.js
let bookScripts: [(name: String, source: String)] = [
    (
        "headings stand over what follows them, and are looked for once",
        """
        const { Book } = await import('/assets/read-book.js');
        const order = Array.from({ length: 300 }, (_, number) => ({ href: `c${number}.xhtml` }));
        order[0].title = 'Title page';
        const toc = [{ href: 'c1.xhtml', title: 'One' }, { href: 'c1.xhtml#b', title: 'Part of one' }, { href: 'elsewhere.xhtml', title: 'No' },
          { href: 'c5.xhtml', title: 'Five', children: [{ href: 'c7.xhtml', title: 'Seven' }] }];
        const book = new Book({ manifest: { metadata: { title: 'A' }, readingOrder: order, toc }, protectedBy: null });
        equal([0, 1, 4, 5, 6, 7, 299, 300, -1].map((index) => book.headingOf(index)),
          ['Title page', 'One', 'One', 'Five', 'Five', 'Seven', 'Seven', '', '']);
        let looked = 0;
        book.indexOf = () => { looked++; return -1; };
        for (let index = 0; index < 300; index++) book.headingOf(index);
        equal(looked, 0);
        """
    )
]
